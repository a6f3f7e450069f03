import { ConfigError } from '../../kit/errors.ts';
import type { Json } from '../../kit/json.ts';

/** What of a search a request to an upstream can be made of, under the contract's names. */
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
  /** The setting that a mistake is told under. */
  setting: string;
  /** What `${NAME}` stands for. */
  environment: Record<string, string | undefined>;
}

/**
 * `${NAME}`, or `{name}`, of which one that is no field is a slip of the pen. Other braces are only text, so that a
 * query language can be written out with blanks in them.
 */
const place = /\$\{([A-Za-z_]\w*)\}|\{([A-Za-z_][\w-]*)\}/g;

/**
 * Reads text with places: `{query}` is a field of the search, `${NAME}` an environment variable. What a variable holds
 * is text, whatever stands in it. Throws ConfigError for a name that is not known; no value is ever in its message.
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

/** The same with every text in `value`. Names of members are taken as they are. */
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

/** Text with `${NAME}` alone, for what must not depend on what a stranger searches for. Throws ConfigError. */
export const readFixedText = (text: string, origin: TemplateOrigin): string => {
  const parts = readTextTemplate(text, origin);
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      throw new ConfigError(
        `${origin.setting}: cannot hold {${part.field}}, as it is the same for all searches`,
      );
    })
    .join('');
};

/** The fields that a text has places for. */
export const fieldsOf = (text: TextTemplate): QueryField[] =>
  text.flatMap((part) => (typeof part === 'string' ? [] : [part.field]));

/** Whether any text in the JSON has a place for `field`. */
export const hasField = (template: JsonTemplate, field: QueryField): boolean => {
  switch (template.kind) {
    case 'fixed':
      return false;
    case 'text':
      return fieldsOf(template.text).includes(field);
    case 'list':
      return template.items.some((item) => hasField(item, field));
    case 'object':
      return Object.values(template.members).some((member) => hasField(member, field));
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
