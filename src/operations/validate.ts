import type { z } from 'zod';
import { jsonExcess } from '../bounded-json.ts';
import { AppError, type ValidationIssue } from '../errors.ts';
import type { Operation } from './operation.ts';

const mostIssues = 20;

/** The checked input, or a 422 that names every wrong field and where it came from. */
export const validate = (operation: Operation, raw: unknown): unknown => {
  const excess = jsonExcess(raw);
  if (excess !== null) throw new AppError('payload_too_large', `The request has ${excess}. Send less.`);
  const parsed = operation.input.safeParse(raw, { reportInput: true });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, mostIssues).map((issue) => toIssue(operation, issue));
  throw invalid(issues);
};

/** A 422 for a rule of a query parameter that a schema cannot say. */
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

const toIssue = (operation: Operation, issue: z.core.$ZodIssue): ValidationIssue => {
  const path = issue.path.map(String);
  return {
    loc: [source(operation, path[0] ?? ''), ...path],
    msg: issueText(issue),
    type: issueType(issue),
  };
};

/** zod's own sentences in plainer words; those that a schema gives stay as they are. */
const issueText = (issue: z.core.$ZodIssue): string => {
  if (!/^(?:Invalid input|Too big|Too small)/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${typeNames[issue.expected] ?? issue.expected}`;
    case 'too_big':
      return `must ${sizeVerb(issue.origin)} at most ${issue.maximum}${sizeUnit(issue.origin)}`;
    case 'too_small':
      return `must ${sizeVerb(issue.origin)} at least ${issue.minimum}${sizeUnit(issue.origin)}`;
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
    default:
      return 'has a wrong form';
  }
};

const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'a JSON object',
  record: 'a JSON object',
};
const sizeVerb = (origin: string): string => (origin === 'string' || origin === 'array' ? 'have' : 'be');
const sizeUnit = (origin: string): string =>
  origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '';

/** Names that readers of FastAPI-like bodies know. */
const issueType = (issue: z.core.$ZodIssue): string => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'missing' : `${issue.expected}_type`;
    case 'too_small':
      return 'greater_than_equal';
    case 'too_big':
      return 'less_than_equal';
    default:
      return 'value_error';
  }
};
