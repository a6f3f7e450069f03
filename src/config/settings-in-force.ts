import { z } from 'zod';
import type { Json } from '../kit/json.ts';
import { fileSchema, parseYaml } from './file-settings.ts';
import { hideSecrets, hideSecretText, type SettingSchema } from './hide-secrets.ts';
import type { Environment } from './setting-names.ts';
import { allVariables } from './variables.ts';

export type SettingSource = 'environment' | '--env-file' | '--data-dir' | 'default';

/** All settings of a process, for its operator. Secrets are hidden. */
export interface SettingsInForce {
  settings: {
    name: string;
    /** As an operator would write it; null: unset, without a default. */
    value: string | null;
    /** Null: unset. */
    source: SettingSource | null;
    /** Whether the declaration says that the value, or a part of it, is secret. */
    secret: boolean;
  }[];
  /** causeway.yaml; null: there is none. */
  file: Json;
}

export interface SettingTexts {
  /** Before secrets were read from their files. */
  environment: Environment;
  sourceOf: (name: string) => SettingSource;
  yamlText: string | null;
}

const schemaOf = (schema: z.ZodType): SettingSchema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SettingSchema;

/** Describes settings that were read without an error. */
export const describeSettings = ({ environment, sourceOf, yamlText }: SettingTexts): SettingsInForce => {
  const { properties = {} } = schemaOf(z.object(allVariables));
  const settings = Object.entries(properties).map(([name, schema]) => {
    const given = environment[name] || null;
    const { default: usual, writeOnly = false } = schema;
    const value = given ?? (typeof usual === 'string' ? usual : null);
    return {
      name,
      value: value === null ? null : hideSecretText(value, schema),
      source: given !== null ? sourceOf(name) : value === null ? null : ('default' as const),
      secret: writeOnly,
    };
  });
  const file = yamlText === null ? null : (parseYaml(yamlText) as Json);
  return { settings, file: hideSecrets(file, schemaOf(fileSchema)) };
};
