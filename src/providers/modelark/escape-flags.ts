/**
 * Replaces the two hyphens of a flag by a dash. ModelArk reads words such as `--duration 15` in a prompt as flags, which
 * would override the fields of the request, and with them the price. Only the start of a run of hyphens is matched, so
 * that a long run takes linear time.
 */
export const escapeFlags = (prompt: string): string => prompt.replaceAll(/(?<!-)-{2,}(?=\p{L})/gu, '–');
