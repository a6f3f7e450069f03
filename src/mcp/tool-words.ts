import { createPathMatcher } from '../kit/path-matcher.ts';
import type { AppError } from '../kit/errors.ts';
import type { ToolOperation } from '../operations/definition.ts';

const address = /\b(GET|POST|DELETE) (\/v1\/[\w/{}-]*[\w}])/g;

/**
 * Returns a function that tells a refusal in the words of tools, where REST has methods, paths and headers. `keyName` stands
 * for the header `Idempotency-Key`.
 */
export const createToolWords = (
  operations: readonly ToolOperation[],
  keyName = 'idempotency_key',
): ((error: AppError) => AppError) => {
  const headers: readonly (readonly [string, string])[] = [
    ['Idempotency-Key', keyName],
    ['Retry-After', 'retry_after_seconds'],
    ['PAYMENT-REQUIRED', '_meta["x402/error"]'],
  ];
  const tools = operations.map(({ name, rest: { method, path } }) => ({
    name,
    method,
    match: createPathMatcher(path),
  }));
  const toTool = (text: string, method: string, path: string): string => {
    for (const tool of tools) {
      const fields = tool.method === method ? tool.match(path) : null;
      if (fields === null) continue;
      const known = Object.entries(fields).filter(([, value]) => !value.startsWith('{'));
      return [tool.name, ...known.map(([name, value]) => `(${name}: ${value})`)].join(' ');
    }
    return text;
  };
  return (error) => {
    const message = headers.reduce(
      (text, [header, argument]) => text.replaceAll(header, argument),
      error.message.replace(address, toTool),
    );
    return message === error.message ? error : error.withMessage(message);
  };
};
