import { jsonExcess } from '../kit/bounded-json.ts';
import { AppError, type ValidationIssue } from '../kit/errors.ts';
import { nearestName } from '../kit/nearest-name.ts';
import { fieldIssues, type FieldIssue } from './field-issues.ts';
import type { Operation } from './operation.ts';

const mostIssues = 20;
/** The most edits between an unknown parameter and the known one that is suggested. */
const mostEdits = 2;

/** Returns the checked input. Throws AppError 422 that names every wrong field and its place. */
export const validate = (operation: Operation, raw: unknown): unknown => {
  const excess = jsonExcess(raw);
  if (excess !== null) throw new AppError('payload_too_large', `The request has ${excess}. Send less.`);
  const parsed = operation.input.safeParse(raw, { reportInput: true });
  // A misspelled name must not be ignored here: the caller would pay for the wrong result.
  const slips = operation.sale?.x402 !== undefined ? misspelledFields(raw, operation.rest.query) : [];
  if (parsed.success && slips.length === 0) return parsed.data;
  const issues = [...slips, ...(parsed.success ? [] : fieldIssues(parsed.error.issues, mostIssues))];
  throw invalid(
    issues
      .slice(0, mostIssues)
      .map(({ path, ...issue }) => ({ loc: [source(operation, String(path[0] ?? '')), ...path], ...issue })),
  );
};

const misspelledFields = (raw: unknown, known: readonly string[]): FieldIssue[] =>
  Object.keys(typeof raw === 'object' && raw !== null ? raw : {}).flatMap((name) => {
    const meant = known.includes(name) ? null : nearestName(name.toLowerCase(), known, mostEdits);
    return meant === null
      ? []
      : [{ path: [name], msg: `is not a parameter; did you mean ${meant}?`, type: 'extra_forbidden' }];
  });

/** Makes a 422 for a rule of a query parameter that a schema cannot express. */
export const invalidQuery = (field: string, msg: string): AppError =>
  invalid([{ loc: ['query', field], msg, type: 'value_error' }]);

const invalid = (issues: ValidationIssue[]): AppError => {
  const first = issues[0];
  const param = first?.loc.slice(1).join('.') || undefined;
  const text = issues.map(({ loc, msg }) => `${loc.slice(1).join('.') || 'request'}: ${msg}`).join('; ');
  return new AppError('invalid_parameter', text, { ...(param === undefined ? {} : { param }), issues });
};

const source = (operation: Operation, field: string): 'query' | 'path' | 'body' => {
  const { rest } = operation;
  if (rest.path.includes(`{${field}}`)) return 'path';
  return rest.method === 'GET' || rest.query.includes(field) ? 'query' : 'body';
};
