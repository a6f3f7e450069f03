import { z } from 'zod';
import type { JsonObject } from '../json.ts';

const mostBytes = 4_096;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON text has no such number: it came from one that is too large to be kept. */
const hasEndlessNumber = (value: unknown): boolean => {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasEndlessNumber);
};

/**
 * The caller's own JSON object, taken as it is: a schema that rebuilt it could lose a member. What cannot come back
 * unchanged is refused.
 */
export const customData = z
  .custom<JsonObject>(isObject, 'must be a JSON object')
  .superRefine((data, { addIssue }) => {
    if (!isObject(data)) return;
    if (Buffer.byteLength(JSON.stringify(data)) > mostBytes)
      addIssue({ code: 'custom', message: `must be at most ${mostBytes} bytes as JSON` });
    else if (hasEndlessNumber(data))
      addIssue({ code: 'custom', message: 'must not have a number beyond the range of a double' });
  })
  .meta({ type: 'object', additionalProperties: true });
