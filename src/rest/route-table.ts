import { methodNotAllowed, type AppError } from '../kit/errors.ts';
import { createPathMatcher } from '../kit/path-matcher.ts';
import type { DescribedOperation } from '../operations/definition.ts';
import { createReadParameters, type ReadParameters } from './read-parameters.ts';

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
  const templates = routes.map((route) => ({ route, match: createPathMatcher(route.operation.rest.path) }));
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
