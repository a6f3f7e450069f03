import { z } from 'zod';
import type { Operation } from '../operations/operation.ts';

/**
 * Reads the query and path of one operation into input fields: text becomes a number or a boolean where the
 * operation's schema wants one and the text is one; everything else is left for the schema to refuse. Of an operation
 * that is paid call by call unknown parameters are read too, as they may be misspelt ones.
 */
export type ReadParameters = (
  query: URLSearchParams,
  path: Record<string, string>,
) => Record<string, unknown>;

export const createReadParameters = (operation: Operation): ReadParameters => {
  const types = fieldTypes(operation);
  return (query, path) => {
    const names = operation.sale?.x402 !== undefined ? new Set(query.keys()) : operation.rest.query;
    const fields: [string, unknown][] = [];
    for (const name of names) {
      const values = query.getAll(name);
      const [first] = values;
      if (first !== undefined)
        fields.push([name, values.length > 1 ? values : toTyped(first, types.get(name))]);
    }
    return { ...Object.fromEntries(fields), ...path };
  };
};

const fieldTypes = (operation: Operation): Map<string, string | undefined> => {
  const schema = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' });
  return new Map(
    Object.entries(schema.properties ?? {}).map(([name, property]) => [
      name,
      typeof property === 'object' && typeof property.type === 'string' ? property.type : undefined,
    ]),
  );
};

const toTyped = (text: string, type: string | undefined): unknown => {
  switch (type) {
    case 'integer':
    case 'number':
      return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text;
    case 'boolean':
      if (/^(?:true|1)$/i.test(text)) return true;
      return /^(?:false|0)$/i.test(text) ? false : text;
    default:
      return text;
  }
};
