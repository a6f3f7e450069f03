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

/** A part of a request that depends on the search. */
export interface Template<Value extends Json> {
  fields: readonly QueryField[];
  /** Returns the value for one search; undefined when it depends on a field that is absent from the search. */
  fill(query: LeadQuery): Value | undefined;
  /** Returns the fields that the value for one search holds. */
  fieldsIn(query: LeadQuery): readonly QueryField[];
}

type TextPart = string | { field: QueryField };

export interface TemplateOrigin {
  setting: string;
  environment: Record<string, string | undefined>;
}

/**
 * `${NAME}` or `{name}`. A `{name}` that is no field is refused as a mistake. Braces with blanks in them are plain text,
 * so that a query language can be written out.
 */
const place = /\$\{([A-Za-z_]\w*)\}|\{([A-Za-z_][\w-]*)\}/g;

const readParts = (text: string, { setting, environment }: TemplateOrigin): TextPart[] => {
  const parts: TextPart[] = [];
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

/**
 * Reads text with places: `{query}` is a field of the search, `${NAME}` an environment variable. The value of a variable
 * is plain text, even when it has braces. Throws ConfigError for an unknown name; its message has no values.
 */
export const readTextTemplate = (text: string, origin: TemplateOrigin): Template<string> =>
  textTemplate(readParts(text, origin));

const textTemplate = (parts: readonly TextPart[]): Template<string> => {
  const fields = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.field]));
  const fill = (query: LeadQuery): string | undefined => fillText(parts, query);
  return { fields, fill, fieldsIn: (query) => (fill(query) === undefined ? [] : fields) };
};

/**
 * Reads every text in `value` as a template. Names of members are plain text. A text that is one field alone becomes
 * that field's value, numbers as numbers. Members and items that depend on an absent field are left out.
 */
export const readJsonTemplate = (value: Json, origin: TemplateOrigin): Template<Json> => {
  if (typeof value === 'string') {
    const parts = readParts(value, origin);
    const [first, ...more] = parts;
    const text = textTemplate(parts);
    return typeof first === 'object' && more.length === 0
      ? { ...text, fill: (query) => readField(query, first.field) }
      : text;
  }
  if (value === null || typeof value !== 'object')
    return { fields: [], fill: () => value, fieldsIn: () => [] };
  const members = Object.entries(value).map(([name, member]) => {
    const setting = Array.isArray(value) ? origin.setting : `${origin.setting}.${name}`;
    return { name, template: readJsonTemplate(member, { ...origin, setting }) };
  });
  return {
    fields: members.flatMap(({ template }) => template.fields),
    fill: (query) => {
      const filled = members.flatMap(({ name, template }): [string, Json][] => {
        const one = template.fill(query);
        return one === undefined ? [] : [[name, one]];
      });
      return Array.isArray(value) ? filled.map(([, one]) => one) : Object.fromEntries(filled);
    },
    fieldsIn: (query) => members.flatMap(({ template }) => template.fieldsIn(query)),
  };
};

/** Reads text with `${NAME}` alone, for values that must not depend on the search. Throws ConfigError. */
export const readFixedText = (text: string, origin: TemplateOrigin): string =>
  readParts(text, origin)
    .map((part) => {
      if (typeof part === 'string') return part;
      throw new ConfigError(
        `${origin.setting}: cannot hold {${part.field}}, as it is the same for all searches`,
      );
    })
    .join('');

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

/** In a text that is more than one field, a field cannot end a quoted text of a query language: see `fieldWithin`. */
const fillText = (parts: readonly TextPart[], query: LeadQuery): string | undefined => {
  const read = parts.length > 1 ? fieldWithin : readField;
  const texts = parts.map((part) => (typeof part === 'string' ? part : read(query, part.field)));
  return texts.includes(undefined) ? undefined : texts.join('');
};

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
  if (field === 'min_followers') return query.minFollowers;
  return field === 'max_followers' ? query.maxFollowers : query[field];
};
