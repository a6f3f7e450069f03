import { z } from 'zod';
import { nearestName } from './nearest-name.ts';

/** A zod error map: the message for unknown keys in causeway.yaml. Returns undefined for other issues. */
export const unknownKey = (issue: z.core.$ZodRawIssue): string | undefined => {
  if (issue.code !== 'unrecognized_keys') return undefined;
  const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
  const [key = ''] = issue.keys;
  const meant = nearestName(key, known, 2);
  return `Unrecognized key: "${key}"; ${meant === null ? `known are ${known.join(', ')}` : `did you mean ${meant}?`}`;
};
