import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { modelsSection, moderationSection } from '../catalog/model-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import { unknownKey } from '../kit/unknown-key.ts';
import { leadsSection } from '../leads/leads-settings.ts';
import { x402Section } from '../payments/x402-settings.ts';
import { providersSection } from '../providers/index.ts';
import { firstIssue } from './first-issue.ts';

/** All keys of causeway.yaml, in the sections of the modules that use them. */
export const fileSchema = z.strictObject({
  providers: providersSection,
  models: modelsSection,
  moderation: moderationSection,
  leads: leadsSection,
  x402: x402Section,
});

/** Reads the text of causeway.yaml; null: there is no file. Throws ConfigError with one line that names the key. */
export const readFileSettings = (text: string | null): z.output<typeof fileSchema> => {
  let document: unknown;
  try {
    document = text === null ? {} : (parseYaml(text) ?? {});
  } catch (error) {
    throw new ConfigError(
      `causeway.yaml: ${error instanceof Error ? error.message.split('\n')[0] : 'is not YAML'}`,
    );
  }
  const parsed = fileSchema.safeParse(document, { error: unknownKey });
  if (!parsed.success) throw firstIssue(parsed.error, 'causeway.yaml: ');
  return parsed.data;
};
