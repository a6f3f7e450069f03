import { z } from 'zod';
import { isJsonObject, type JsonObject, parseVerbatim, sourceText } from '../kit/json.ts';

const maxBytes = 4_096;
/** Of the text as it was sent. An escape (`\u0061`) has six bytes for one, and spaces are not counted otherwise. */
const maxTextBytes = 6 * maxBytes;

const textOf = (data: JsonObject): string => sourceText(data) ?? JSON.stringify(data);

/** Returns whether a number may have lost digits when it was read into a double, such as a long order number. */
const hasInexactNumber = (value: unknown): boolean => {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInexactNumber);
};

/**
 * The caller's own JSON object, with its source text (`sourceText`). The MCP library passes values without their text, so
 * a number that lost digits there is refused.
 */
export const customData = z
  .custom<JsonObject>(isJsonObject, 'must be a JSON object')
  .superRefine((data, { addIssue }) => {
    if (!isJsonObject(data)) return;
    const sent = Buffer.byteLength(textOf(data));
    // The compact text of a number such as 1e20 is longer.
    if (sent > maxTextBytes || (sent > maxBytes && Buffer.byteLength(JSON.stringify(data)) > maxBytes))
      addIssue({
        code: 'custom',
        message: `must be at most ${maxBytes} bytes as compact JSON, and ${maxTextBytes} as sent`,
      });
    else if (sourceText(data) === undefined && hasInexactNumber(data))
      addIssue({
        code: 'custom',
        message: 'must not have a number above 2^53, which would lose digits; send it as a string',
      });
  })
  .meta({ type: 'object', additionalProperties: true })
  // Copied, because a slice of the body's text would keep the whole body in memory as long as the job.
  .transform((data) => parseVerbatim(Buffer.from(textOf(data)).toString()));
