import type { Json } from '../../kit/json.ts';
import {
  fieldsOf,
  queryFields,
  type JsonTemplate,
  type QueryField,
  type TextTemplate,
} from './query-template.ts';
import type { LeadQuery } from '../lead-source.ts';

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
