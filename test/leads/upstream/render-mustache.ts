import { z } from 'zod';

type Scope = unknown;

const tag = /\{\{([#^/]?)\s*([\w.]+)\s*\}\}/g;

/**
 * Renders a template as the search templates of OpenSearch and Elasticsearch do, as far as ours need it: values as JSON
 * texts, sections over lists, objects and values, and names that are looked up outwards.
 */
export const renderMustache = (template: string, parameters: object): string => {
  const tags = [...template.matchAll(tag)];
  let next = 0;
  let end = 0;

  /** Renders up to the end of the section `name`, once for each item of `scopes`. */
  const renderSection = (name: string | null, items: readonly Scope[], outer: readonly Scope[]): string => {
    const start = { next, end };
    let text = '';
    for (const item of items.length === 0 ? [null] : items) {
      ({ next, end } = start);
      const part = renderOnce(name, [item, ...outer]);
      if (items.length > 0) text += part;
    }
    return text;
  };
  const renderOnce = (name: string | null, scopes: readonly Scope[]): string => {
    let text = '';
    for (let match = tags[next]; match !== undefined; match = tags[next]) {
      const [whole, kind, inner = ''] = match;
      next += 1;
      text += template.slice(end, match.index);
      end = match.index + whole.length;
      if (kind === '/') {
        if (inner !== name) throw new Error(`the section ${name} ends as ${inner}`);
        return text;
      }
      const value = find(inner, scopes);
      if (kind === '') text += toText(value);
      else
        text += renderSection(inner, kind === '^' ? (isEmpty(value) ? [null] : []) : itemsOf(value), scopes);
    }
    if (name !== null) throw new Error(`the section ${name} has no end`);
    return text + template.slice(end);
  };
  return renderOnce(null, [parameters]);
};

const find = (name: string, scopes: readonly Scope[]): unknown => {
  if (name === '.') return scopes[0];
  const scope = scopes.find((one) => typeof one === 'object' && one !== null && Object.hasOwn(one, name));
  return (scope as Record<string, unknown> | undefined)?.[name];
};

/** Also 0: implementations differ. */
const isEmpty = (value: unknown): boolean => !value || (Array.isArray(value) && value.length === 0);

const itemsOf = (value: unknown): readonly unknown[] => {
  if (isEmpty(value)) return [];
  return Array.isArray(value) ? value : [value];
};

/** Templates of ours put in texts and numbers alone. */
const toText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return JSON.stringify(z.union([z.string(), z.number().transform(String)]).parse(value)).slice(1, -1);
};
