import { methodNotAllowed, type AppError } from '../kit/errors.ts';
import { createPathMatcher } from '../kit/path-matcher.ts';
import { takesBody, type DescribedOperation } from '../operations/definition.ts';
import { z } from 'zod';
import { invalidQuery, refusesSlips } from '../operations/validate.ts';

/** A route on the path of a request. */
export interface FoundRoute<Described extends DescribedOperation> {
  operation: Described;
  /** The input fields that the path names. */
  fields: Record<string, string>;
  readParameters: ReadParameters;
}

/** Makes a route of each operation. The returned function finds those on a path; empty if there are none. */
export const createRouteTable = <Described extends DescribedOperation>(operations: readonly Described[]) => {
  const routes = operations.map((operation) => ({
    operation,
    fields: {},
    readParameters: createReadParameters(operation),
  }));
  const plain = Map.groupBy(routes, ({ operation }) => operation.rest.path);
  const templates = routes
    .filter(({ operation }) => operation.rest.path.includes('{'))
    .map((route) => ({ route, match: createPathMatcher(route.operation.rest.path) }));
  const find = (path: string): FoundRoute<Described>[] =>
    templates.flatMap(({ route, match }) => {
      const fields = match(path);
      return fields === null ? [] : [{ ...route, fields }];
    });
  return (path: string): readonly FoundRoute<Described>[] => plain.get(path) ?? find(path);
};

/** Returns the route of a method; null if the path takes others. Node itself omits the body of an answer to HEAD. */
export const routeFor = <Described extends DescribedOperation>(
  method: string | undefined,
  onPath: readonly FoundRoute<Described>[],
): FoundRoute<Described> | null =>
  onPath.find(({ operation }) => operation.rest.method === (method === 'HEAD' ? 'GET' : method)) ?? null;

const allowedBy = ({ rest }: DescribedOperation): string =>
  rest.method === 'GET' ? 'GET, HEAD' : rest.method;

export const refuseMethod = (onPath: readonly FoundRoute<DescribedOperation>[]): AppError =>
  methodNotAllowed(onPath.map(({ operation }) => allowedBy(operation)).join(', '));

type ReadParameters = ReturnType<typeof createReadParameters>;

/**
 * Reads the query and path of one operation into input fields. Text becomes a number or boolean if the operation's
 * schema wants one and the text is one; the schema refuses everything else. For an operation that refuses slips it also
 * reads unknown parameters; so it does for a strict one. Throws AppError 422 if the query of such an operation has a field
 * of its JSON body; a strict one then takes no query.
 */
const createReadParameters = (operation: DescribedOperation) => {
  let known: ReturnType<typeof fieldTypes> | null = null;
  // Most calls have no query, and most operations are not called by each process.
  const types = () => (known ??= fieldTypes(operation));
  const { isStrict, accepts, query: own } = operation.rest;
  const readsAll = refusesSlips(operation) || isStrict === true;
  const hasJsonBody = takesBody(operation.rest) && accepts === undefined;
  const isMisplaced = (name: string): boolean =>
    readsAll && hasJsonBody && !own.includes(name) && (isStrict === true || types().has(name));
  return (query: URLSearchParams, path: Record<string, string>): Record<string, unknown> => {
    const misplaced = query.keys().find(isMisplaced);
    if (misplaced !== undefined)
      throw invalidQuery(misplaced, 'must not be in the query; send the fields in the body');
    const names = readsAll ? new Set(query.keys()) : own;
    const fields: [string, unknown][] = [];
    for (const name of names) {
      const values = query.getAll(name);
      const [first] = values;
      if (first !== undefined)
        fields.push([name, values.length > 1 ? values : toTyped(first, types().get(name))]);
    }
    return { ...Object.fromEntries(fields), ...path };
  };
};

const fieldTypes = (operation: DescribedOperation): Map<string, string | undefined> => {
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
