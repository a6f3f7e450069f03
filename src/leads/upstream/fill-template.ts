import type { Json } from '../../kit/json.ts';
import { fieldsOf, type JsonTemplate, type QueryField, type TextTemplate } from './query-template.ts';
import type { LeadQuery } from '../lead-source.ts';

/**
 * The text for one search; undefined when a field in it is absent from the search. In a text that is more than one
 * field, what somebody searches for cannot end a quoted text, as that of a query language: see `fieldWithin`.
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
 * The JSON for one search. A text that is one field alone becomes that field's value, numbers as numbers. What
 * depends on an absent field is left out of its list or object; undefined when that is all there is.
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

/** The fields of a search that are in what is filled from these templates. */
export const fieldsIn = (templates: readonly JsonTemplate[], query: LeadQuery): Set<QueryField> =>
  new Set(templates.flatMap((template) => templateFields(template, query)));

const templateFields = (template: JsonTemplate, query: LeadQuery): QueryField[] => {
  switch (template.kind) {
    case 'fixed':
      return [];
    case 'text': {
      return fillText(template.text, query) === undefined ? [] : fieldsOf(template.text);
    }
    case 'list':
      return template.items.flatMap((item) => templateFields(item, query));
    case 'object':
      return Object.values(template.members).flatMap((member) => templateFields(member, query));
  }
};

/** What ends a quoted text, or has a meaning of its own in one. */
const unquotable = /["'`\\\p{Cc}\u2028\u2029]/gu;

/**
 * A field as part of a longer text. Of the words, what cannot stand between quotes is a blank, which divides words as
 * it does. A category would be another one without it: it is left out, and the answers are filtered by it.
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
