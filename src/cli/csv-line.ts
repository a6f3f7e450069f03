/** The characters that spreadsheets take for the beginning of a formula. */
const formulaStart = /^[=+\-@\t\r]/;

const toField = (text: string): string => {
  const harmless = formulaStart.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/** Formats one record of CSV (RFC 4180) with its line break. No spreadsheet runs a field as a formula. */
export const csvLine = (fields: readonly string[]): string => `${fields.map(toField).join(',')}\r\n`;
