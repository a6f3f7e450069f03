import { createRequire } from 'node:module';
import { z } from 'zod';
import { modelsSection, moderationSection } from '../accounts/catalog/model-settings.ts';
import { walletTermsSection } from '../accounts/catalog/wallet-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import { nearestName } from '../kit/text.ts';
import { leadsSection } from '../leads/leads-settings.ts';
import { mountsSection } from '../mounts/mount-settings.ts';
import { x402Section } from '../payments/x402-settings.ts';
import { providersSection } from '../providers/index.ts';
import { firstIssue } from './read-variables.ts';

/** Loads the parser only if there is a file. */
export const parseYaml = (text: string): unknown =>
  (createRequire(import.meta.url)('yaml') as typeof import('yaml')).parse(text);

/** All keys of causeway.yaml, in the sections of the modules that use them. */
export const fileSchema = z.strictObject({
  providers: providersSection,
  models: modelsSection,
  moderation: moderationSection,
  wallet_terms: walletTermsSection,
  leads: leadsSection,
  x402: x402Section,
  mcp_servers: mountsSection,
});

/** Reads the text of causeway.yaml; null: there is no file. Throws ConfigError with one line that names the key. */
export const readFileSettings = (text: string | null): z.output<typeof fileSchema> =>
  readFile(text, fileSchema);

/** Reads the section `leads` alone, while others may be wrong. Throws ConfigError with one line that names the key. */
export const readLeadsSection = (text: string | null): z.output<typeof leadsSection> =>
  readFile(text, z.object({ leads: leadsSection })).leads;

const readFile = <Output>(text: string | null, schema: z.ZodType<Output>): Output => {
  let document: unknown;
  try {
    document = text === null ? {} : (parseYaml(text) ?? {});
  } catch (error) {
    throw new ConfigError(
      `causeway.yaml: ${error instanceof Error ? error.message.split('\n')[0]?.replace(/:$/, '') : 'is not YAML'}`,
    );
  }
  const parsed = schema.safeParse(document, { error: explain });
  if (!parsed.success) throw firstIssue(parsed.error, 'causeway.yaml: ');
  return parsed.data;
};

/** A zod error map: messages for issues that zod words for programmers. Returns undefined for other issues. */
const explain = (issue: z.core.$ZodRawIssue): string | undefined => {
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownKey(issue);
    case 'invalid_key':
      return issue.issues[0]?.message;
    case 'invalid_type':
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : undefined;
    default:
      return undefined;
  }
};

const unknownKey = ({ keys, inst }: z.core.$ZodRawIssue<z.core.$ZodIssueUnrecognizedKeys>): string => {
  const known = inst instanceof z.ZodObject ? Object.keys(inst.shape) : [];
  const [key = ''] = keys;
  const meant = nearestName(key, known, 2);
  return `Unrecognized key: "${key}"; ${meant === null ? `known are ${known.join(', ')}` : `did you mean ${meant}?`}`;
};
