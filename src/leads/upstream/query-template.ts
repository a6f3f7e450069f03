import { ConfigError } from '../../kit/errors.ts';
import type { Json } from '../../kit/json.ts';
import type { LeadQuery } from '../lead-source.ts';

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
    if (variable === undefined) parts.push({ field: toField(field ?? '', setting) });
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

const toField = (name: string, setting: string): QueryField => {
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

/**
 * Returns the text for one search; undefined when a field in it is absent from the search. In a text that is more than
 * one field, a field cannot end a quoted text of a query language: see `fieldWithin`.
 */
export const fillText = (template: TextTemplate, query: LeadQuery): string | undefined => {
  const read = template.length > 1 ? fieldWithin : readField;
  let text = '';
  for (const part of template) {
    const value = typeof part === 'string' ? part : read(query, part.field);
    if (value === undefined) return undefined;
    text += value;
  }
  return text;
};

/**
 * Returns the JSON for one search. A text that is one field alone becomes that field's value, numbers as numbers.
 * Members and items that depend on an absent field are left out; undefined when the whole value depends on one.
 */
export const fillJson = (template: JsonTemplate, query: LeadQuery): Json | undefined => {
  switch (template.kind) {
    case 'fixed':
      return template.value;
    case 'text': {
      const [first, ...more] = template.text;
      const isFieldAlone = typeof first === 'object' && more.length === 0;
      return isFieldAlone ? readField(query, first.field) : fillText(template.text, query);
    }
    case 'list':
      return template.items.flatMap((item) => {
        const value = fillJson(item, query);
        return value === undefined ? [] : [value];
      });
    case 'object': {
      const filled: [string, Json][] = [];
      for (const [name, member] of Object.entries(template.members)) {
        const value = fillJson(member, query);
        if (value !== undefined) filled.push([name, value]);
      }
      return Object.fromEntries(filled);
    }
  }
};

/** Returns the fields of a search that the filled templates hold. */
export const fieldsIn = (templates: readonly JsonTemplate[], query: LeadQuery): Set<QueryField> =>
  new Set(templates.flatMap((template) => fieldsOf(template, (text) => fillText(text, query) !== undefined)));

/** Returns the fields of the words and filters that a search has. */
export const fieldsSearched = (query: LeadQuery): QueryField[] =>
  queryFields.filter((field) => field !== 'limit' && readField(query, field) !== undefined);

/** Characters that end a quoted text, or have a special meaning in one. */
const unquotable = /["'`\\\p{Cc}\u2028\u2029]/gu;

/**
 * Returns a field as part of a longer text. In the words, a character that cannot stand between quotes becomes a blank,
 * which divides words as well. A category would change its meaning without the character: it counts as absent, and the
 * answers are filtered by it.
 */
const fieldWithin = (query: LeadQuery, field: QueryField): string | number | undefined => {
  const value = readField(query, field);
  if (field === 'query' && typeof value === 'string') return value.replace(unquotable, ' ');
  if (field === 'category' && typeof value === 'string' && value.search(unquotable) >= 0) return undefined;
  return value;
};

const readField = (query: LeadQuery, field: QueryField): string | number | undefined => {
  switch (field) {
    case 'min_followers':
      return query.minFollowers;
    case 'max_followers':
      return query.maxFollowers;
    case 'query':
    case 'country':
    case 'category':
    case 'gender':
    case 'limit':
      return query[field];
  }
};
