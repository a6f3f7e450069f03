import type { Json } from '../kit/json.ts';

/** The part of a JSON Schema that marks secret values (`secret` in kit/variables.ts). */
export interface SettingSchema {
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
export const hideSecrets = (value: Json, schema: SettingSchema | undefined): Json => {
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

/** Does the same with one text. */
export const hideSecretText = (text: string, { writeOnly, format }: SettingSchema): string => {
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
