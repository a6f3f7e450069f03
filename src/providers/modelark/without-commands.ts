/**
 * A prompt without ModelArk's commands: words such as `--duration 15` at its end would outdo the fields of the request,
 * and with them the price. Their two hyphens become a dash. A run
 * of hyphens is looked at from its beginning alone, so that a long one takes no longer than its length.
 */
export const withoutCommands = (prompt: string): string => prompt.replaceAll(/(?<!-)-{2,}(?=\p{L})/gu, '–');
