/**
 * A prompt without ModelArk's commands: words such as `--duration 15` at its end would outdo the fields of the request,
 * and with them the price. Their two hyphens become a dash.
 */
export const withoutCommands = (prompt: string): string => prompt.replaceAll(/-{2,}(?=\p{L})/gu, '–');
