import { Mismatch } from './outcomes.ts';
import type { Answer } from './client.ts';
import {
  count,
  envelope,
  expectShape,
  isRecord,
  listOf,
  members,
  text,
  type JsonRecord,
  type Shape,
} from './shapes.ts';

/** Throws Mismatch when `isRight` is false. */
export const expectThat = (isRight: boolean, seen: string): void => {
  if (!isRight) throw new Mismatch(seen);
};

export const expectEqual = (seen: unknown, wanted: unknown, what: string): void =>
  expectThat(
    JSON.stringify(seen) === JSON.stringify(wanted),
    `${what}: is ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`,
  );

const excerpt = ({ bytes, headers }: Answer): string =>
  /json|text/.test(headers.get('content-type') ?? '')
    ? bytes.toString('utf8').slice(0, 300)
    : `${bytes.length} bytes of ${headers.get('content-type')}`;

export const describeAnswer = (answer: Answer): string =>
  `${answer.request} answered ${answer.status} ${excerpt(answer)}`;

export const expectStatus = (answer: Answer, ...wanted: readonly number[]): void =>
  expectThat(wanted.includes(answer.status), `${describeAnswer(answer)}; not ${wanted.join(' or ')}`);

export const expectHeader = (
  answer: Pick<Answer, 'headers'>,
  name: string,
  wanted?: string | RegExp,
): string => {
  const value = answer.headers.get(name);
  if (value === null) throw new Mismatch(`the header ${name} is missing`);
  if (wanted instanceof RegExp)
    expectThat(wanted.test(value), `the header ${name} is ${value}, not like ${wanted.source}`);
  else if (wanted !== undefined)
    expectThat(value === wanted, `the header ${name} is ${value}, not ${wanted}`);
  return value;
};

/** Checks the status and returns the JSON object. */
export const expectJson = (answer: Answer, ...statuses: readonly number[]): JsonRecord => {
  expectStatus(answer, ...statuses);
  expectHeader(answer, 'content-type', /^application\/json\b/);
  if (!isRecord(answer.json)) throw new Mismatch(`${describeAnswer(answer)}; not a JSON object`);
  return answer.json;
};

export interface WantedError {
  status: number | readonly number[];
  code?: string | readonly string[];
  type?: string;
  /** The field that `error.param` names, at any depth. */
  param?: string;
  /** Expects `detail` beside the envelope, as in a 422. */
  hasDetail?: boolean;
}

const textOrIndex: Shape = (value) => (text(value) === null ? null : count(value));
const validationIssue = members({ loc: listOf(textOrIndex, 1), msg: text, type: text });

/** Returns the top-level field of a path such as `messages.0.content` or `tools[0].type`. */
const fieldOf = (param: string): string => param.split(/[.[]/)[0] ?? '';

/** Checks that the body is the documented envelope and nothing else, except `detail`. */
export const expectError = (answer: Answer, wanted: WantedError): JsonRecord => {
  const statuses = typeof wanted.status === 'number' ? [wanted.status] : wanted.status;
  const body = expectJson(answer, ...statuses);
  const at = describeAnswer(answer);
  expectShape(
    body,
    members(
      { error: envelope, ...(wanted.hasDetail === true ? { detail: listOf(validationIssue, 1) } : {}) },
      { only: true },
    ),
    at,
  );
  const error = isRecord(body['error']) ? body['error'] : {};
  if (wanted.code !== undefined) {
    const codes = typeof wanted.code === 'string' ? [wanted.code] : wanted.code;
    expectThat(codes.includes(String(error['code'])), `${at}; the code is not ${codes.join(' or ')}`);
  }
  if (wanted.type !== undefined)
    expectThat(error['type'] === wanted.type, `${at}; the type is not ${wanted.type}`);
  if (wanted.param !== undefined)
    expectThat(fieldOf(String(error['param'])) === wanted.param, `${at}; param is not ${wanted.param}`);
  return error;
};
