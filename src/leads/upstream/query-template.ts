import { ConfigError } from '../../kit/errors.ts';
import type { Json } from '../../kit/json.ts';
import type { LeadQuery } from '../lead-source.ts';
import { categoryKey, countryKey } from '../query/lead-filters.ts';
import { queryTerms, type QueryTerm } from '../query/search-terms.ts';

/** The words and filters of a search. */
export const searchedFields = [
  'query',
  'country',
  'category',
  'gender',
  'min_followers',
  'max_followers',
] as const;

/** The parts of a search that a request to a service can hold. */
export type QueryField = (typeof searchedFields)[number] | 'limit' | 'after';

interface Placeholder {
  /** The part of the search that a request with this placeholder holds. */
  field: QueryField;
  /** Undefined: the search does not have it. */
  text: (query: LeadQuery) => string | number | undefined;
  /** Its form as a value of JSON, if that is not `text`. */
  json?: (query: LeadQuery) => Json | undefined;
}

const termsOf = ({ query }: LeadQuery): QueryTerm[] | undefined => {
  const terms = query === undefined ? [] : queryTerms(query);
  return terms.length === 0 ? undefined : terms;
};

/** The placeholders of a request, `{name}`, that each search fills. */
const placeholders: Record<string, Placeholder> = {
  query: { field: 'query', text: ({ query }) => query },
  terms: {
    field: 'query',
    text: (query) =>
      termsOf(query)
        ?.map(({ text }) => text)
        .join(' '),
    // The names of the two queries of OpenSearch, so that its templates need no condition.
    json: (query) =>
      termsOf(query)?.map(({ text, isPrefix }) => ({ match: isPrefix ? 'prefix' : 'term', text })),
  },
  country: {
    field: 'country',
    text: ({ country }) => (country === undefined ? undefined : (countryKey(country) ?? country)),
  },
  category: { field: 'category', text: ({ category }) => category },
  category_key: {
    field: 'category',
    text: ({ category }) => (category === undefined ? undefined : categoryKey(category)),
  },
  gender: { field: 'gender', text: ({ gender }) => gender },
  min_followers: { field: 'min_followers', text: ({ minFollowers }) => minFollowers },
  max_followers: { field: 'max_followers', text: ({ maxFollowers }) => maxFollowers },
  limit: { field: 'limit', text: ({ limit }) => limit },
  after: {
    field: 'after',
    text: ({ after }) => after && `${after.followers}:${after.username}`,
    json: ({ after }) => after && { followers: after.followers, username: after.username },
  },
};

/** A part of a request that depends on the search. */
export interface Template<Value extends Json> {
  fields: readonly QueryField[];
  /** Returns the value for one search; undefined when it depends on a field that is absent from the search. */
  fill(query: LeadQuery): Value | undefined;
  /** Returns the fields that the value for one search holds. */
  fieldsIn(query: LeadQuery): readonly QueryField[];
}

export interface TemplateOrigin {
  setting: string;
  environment: Record<string, string | undefined>;
}

/**
 * `${NAME}` or `{name}`. A `{name}` that is no placeholder is refused as a mistake. Braces with blanks in them are plain
 * text, so that a query language can be written out.
 */
const placeholderPattern = /\$\{([A-Za-z_]\w*)\}|\{([A-Za-z_][\w-]*)\}/g;

const readParts = (text: string, { setting, environment }: TemplateOrigin): (string | Placeholder)[] => {
  const parts: (string | Placeholder)[] = [];
  let end = 0;
  for (const match of text.matchAll(placeholderPattern)) {
    const [whole, variable, name = ''] = match;
    if (match.index > end) parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (variable === undefined) parts.push(placeholderOf(name, setting));
    else parts.push(readVariable(variable, { setting, environment }));
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
};

/**
 * Reads text with placeholders: `{query}` is a field of the search, `${NAME}` an environment variable. The value of a
 * variable is plain text, even when it has braces. Throws ConfigError for an unknown name; its message has no values.
 */
export const readTextTemplate = (text: string, origin: TemplateOrigin): Template<string> =>
  textTemplate(readParts(text, origin));

const textTemplate = (parts: readonly (string | Placeholder)[]): Template<string> => {
  const fields = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.field]));
  const fill = (query: LeadQuery): string | undefined => {
    const texts = parts.map((part) =>
      typeof part === 'string' ? part : parts.length > 1 ? textWithin(query, part) : part.text(query),
    );
    return texts.includes(undefined) ? undefined : texts.join('');
  };
  return { fields, fill, fieldsIn: (query) => (fill(query) === undefined ? [] : fields) };
};

/**
 * Reads every text in `value` as a template. Names of members are plain text. A text that is one placeholder alone
 * becomes its value, numbers as numbers. Members and items that depend on an absent field are left out.
 */
export const readJsonTemplate = (value: Json, origin: TemplateOrigin): Template<Json> => {
  if (typeof value === 'string') {
    const parts = readParts(value, origin);
    const [first, ...more] = parts;
    const text = textTemplate(parts);
    return typeof first === 'object' && more.length === 0
      ? { ...text, fill: first.json ?? first.text }
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

const placeholderOf = (name: string, setting: string): Placeholder => {
  const placeholder = Object.hasOwn(placeholders, name) ? placeholders[name] : undefined;
  if (placeholder !== undefined) return placeholder;
  const known = Object.keys(placeholders).map((each) => `{${each}}`);
  throw new ConfigError(`${setting}: there is no {${name}}; there are ${known.join(', ')}`);
};

const readVariable = (name: string, { setting, environment }: TemplateOrigin): string => {
  const value = environment[name];
  if (value === undefined || value === '')
    throw new ConfigError(`${setting}: the environment variable ${name} is not set`);
  return value;
};

/** Returns the fields of the words and filters that a search has. */
export const fieldsSearched = (query: LeadQuery): QueryField[] =>
  searchedFields.filter((field) => placeholders[field]?.text(query) !== undefined);

/** Characters that end a quoted text, or have a special meaning in one. */
const unquotable = /["'`\\\p{Cc}\u2028\u2029]/gu;

/**
 * Returns a field as part of a longer text, in which it cannot end a quoted text of a query language. In the words, a
 * character that cannot stand between quotes becomes a blank, which divides words as well. A category would change its
 * meaning without the character: it counts as absent, and the answers are filtered by it.
 */
const textWithin = (query: LeadQuery, placeholder: Placeholder): string | number | undefined => {
  const text = placeholder.text(query);
  if (typeof text !== 'string') return text;
  if (placeholder.field === 'query') return text.replace(unquotable, ' ');
  return text.search(unquotable) >= 0 ? undefined : text;
};
