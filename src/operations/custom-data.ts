import { z } from 'zod';
import type { JsonObject } from '../json.ts';

const mostBytes = 4_096;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A number that was read into a double and may have lost digits by it, such as a long order number. */
const hasInexactNumber = (value: unknown): boolean => {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInexactNumber);
};

/**
 * The caller's own JSON object, taken as it is: a schema that rebuilt it could lose a member. A number that would lose
 * its last digits is refused.
 */
export const customData = z
  .custom<JsonObject>(isObject, 'must be a JSON object')
  .superRefine((data, { addIssue }) => {
    if (!isObject(data)) return;
    if (Buffer.byteLength(JSON.stringify(data)) > mostBytes)
      addIssue({ code: 'custom', message: `must be at most ${mostBytes} bytes as JSON` });
    else if (hasInexactNumber(data))
      addIssue({
        code: 'custom',
        message: 'must not have a number above 2^53, which would lose digits; send it as a string',
      });
  })
  .meta({ type: 'object', additionalProperties: true });
