import { ConfigError } from '../../kit/errors.ts';
import type { Json } from '../../kit/json.ts';

/** The fields of a search that a request to an upstream can hold, under the contract's names. */
export const queryFields = [
  'query',
  'country',
  'category',
  'gender',
  'min_followers',
  'max_followers',
  'limit',
] as const;
export type QueryField = (typeof queryFields)[number];

/** Text with places for fields of a search. */
export type TextTemplate = readonly (string | { field: QueryField })[];

/** JSON whose texts have places for fields of a search. */
export type JsonTemplate =
  | { kind: 'fixed'; value: null | boolean | number }
  | { kind: 'text'; text: TextTemplate }
  | { kind: 'list'; items: JsonTemplate[] }
  | { kind: 'object'; members: Record<string, JsonTemplate> };

export interface TemplateOrigin {
  /** The setting that errors name. */
  setting: string;
  /** The values of `${NAME}`. */
  environment: Record<string, string | undefined>;
}

/**
 * `${NAME}` or `{name}`. A `{name}` that is no field is refused as a mistake. Braces with blanks in them are plain text,
 * so that a query language can be written out.
 */
const place = /\$\{([A-Za-z_]\w*)\}|\{([A-Za-z_][\w-]*)\}/g;

/**
 * Reads text with places: `{query}` is a field of the search, `${NAME}` an environment variable. The value of a variable
 * is plain text, even when it has braces. Throws ConfigError for an unknown name; its message has no values.
 */
export const readTextTemplate = (text: string, { setting, environment }: TemplateOrigin): TextTemplate => {
  const parts: (string | { field: QueryField })[] = [];
  let end = 0;
  for (const match of text.matchAll(place)) {
    const [whole, variable, field] = match;
    if (match.index > end) parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (variable === undefined) parts.push({ field: readField(field ?? '', setting) });
    else parts.push(readVariable(variable, { setting, environment }));
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
};

/** Reads every text in `value` as a template. Names of members are plain text. */
export const readJsonTemplate = (value: Json, origin: TemplateOrigin): JsonTemplate => {
  if (typeof value === 'string') return { kind: 'text', text: readTextTemplate(value, origin) };
  if (value === null || typeof value !== 'object') return { kind: 'fixed', value };
  if (Array.isArray(value))
    return { kind: 'list', items: value.map((item) => readJsonTemplate(item, origin)) };
  const members = Object.entries(value).map(([name, member]) => [
    name,
    readJsonTemplate(member, { ...origin, setting: `${origin.setting}.${name}` }),
  ]);
  return { kind: 'object', members: Object.fromEntries(members) };
};

/** Reads text with `${NAME}` alone, for values that must not depend on the search. Throws ConfigError. */
export const readFixedText = (text: string, origin: TemplateOrigin): string =>
  readTextTemplate(text, origin)
    .map((part) => {
      if (typeof part === 'string') return part;
      throw new ConfigError(
        `${origin.setting}: cannot hold {${part.field}}, as it is the same for all searches`,
      );
    })
    .join('');

/** Returns the fields that the texts of a template have places for. `isUsed` can leave out single texts. */
export const fieldsOf = (
  template: JsonTemplate,
  isUsed: (text: TextTemplate) => boolean = () => true,
): QueryField[] => {
  switch (template.kind) {
    case 'fixed':
      return [];
    case 'text':
      if (!isUsed(template.text)) return [];
      return template.text.flatMap((part) => (typeof part === 'string' ? [] : [part.field]));
    case 'list':
      return template.items.flatMap((item) => fieldsOf(item, isUsed));
    case 'object':
      return Object.values(template.members).flatMap((member) => fieldsOf(member, isUsed));
  }
};

const isField = (name: string): name is QueryField => queryFields.some((field) => field === name);

const readField = (name: string, setting: string): QueryField => {
  if (isField(name)) return name;
  throw new ConfigError(
    `${setting}: there is no {${name}}; there are ${queryFields.map((field) => `{${field}}`).join(', ')}`,
  );
};

const readVariable = (name: string, { setting, environment }: TemplateOrigin): string => {
  const value = environment[name];
  if (value === undefined || value === '')
    throw new ConfigError(`${setting}: the environment variable ${name} is not set`);
  return value;
};
