import { z } from 'zod';
import type { Json } from '../kit/json.ts';
import { fileSchema } from './file-settings.ts';
import type { Environment } from './read-variables.ts';
import { allVariables } from './variables.ts';

const settingSchema = z.strictObject({
  name: z.string(),
  value: z.string().nullable().describe('Null: unset, without a default.'),
  source: z.enum(['environment', '--env-file', '--data-dir', 'default']).nullable(),
  secret: z.boolean().describe('True: the value, or a part of it, is secret.'),
});

/** All settings of a process, for its operator, as operators write them. Secrets are hidden. */
export const settingsSchema = z.strictObject({
  settings: z.array(settingSchema),
  file: z.json().describe('causeway.yaml; null: there is none.'),
});

export type SettingsInForce = z.output<typeof settingsSchema>;

export interface SettingTexts {
  /** Before secrets were read from their files. */
  environment: Environment;
  sourceOf: (name: string) => z.output<typeof settingSchema>['source'];
  /** causeway.yaml; null: there is none. */
  file: Json;
}

const schemaOf = (schema: z.ZodType): SettingSchema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as SettingSchema;

/** Describes settings that were read without an error. */
export const describeSettings = ({ environment, sourceOf, file }: SettingTexts): SettingsInForce => {
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
  return { settings, file: hideSecrets(file, schemaOf(fileSchema)) };
};

/** The part of a JSON Schema that marks secret values (`secret` in kit/settings.ts). */
interface SettingSchema {
  writeOnly?: boolean;
  format?: string;
  const?: unknown;
  default?: unknown;
  properties?: Record<string, SettingSchema>;
  additionalProperties?: SettingSchema | boolean;
  items?: SettingSchema;
  oneOf?: SettingSchema[];
}

const hidden = '(hidden)';

/**
 * Hides the secrets of a checked setting. Of a secret address its scheme and host are left; of any other address user,
 * password and query are hidden. A member that the schema does not have is hidden.
 */
const hideSecrets = (value: Json, schema: SettingSchema | undefined): Json => {
  if (value === null) return value;
  if (schema === undefined) return hidden;
  if (typeof value === 'string') return hideSecretText(value, schema);
  if (schema.writeOnly === true) return hidden;
  if (Array.isArray(value)) return value.map((item) => hideSecrets(item, schema.items));
  if (typeof value === 'object') {
    const form = formOf(value, schema);
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, hideSecrets(member, memberOf(form, name))]),
    );
  }
  return value;
};

const hideSecretText = (text: string, { writeOnly, format }: SettingSchema): string => {
  if (writeOnly !== true) return withoutCredentials(text);
  return format === 'uri' ? originOf(text) : hidden;
};

/** Returns the form of a union that has the same `type` as `value`. */
const formOf = (value: Record<string, Json>, schema: SettingSchema): SettingSchema =>
  schema.oneOf?.find(({ properties }) => properties?.['type']?.const === value['type']) ?? schema;

const memberOf = (
  { properties, additionalProperties }: SettingSchema,
  name: string,
): SettingSchema | undefined => {
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
};

const originOf = (address: string): string => {
  const url = URL.parse(address);
  return url === null ? hidden : `${url.protocol}//${url.host}/${hidden}`;
};

/** Texts may name several addresses, divided by commas. */
const withoutCredentials = (text: string): string =>
  text.replace(/(\w:\/\/)[^/?#,\s]*@/g, `$1${hidden}@`).replace(/(\w:\/\/[^?\s]*)\?.*$/s, `$1?${hidden}`);
