/** What spreadsheets take for the beginning of a formula. */
const formulaStart = /^[=+\-@\t\r]/;

const toField = (text: string): string => {
  const harmless = formulaStart.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/** One record by RFC 4180, with its line break. No field of it is run as a formula by a spreadsheet. */
export const csvLine = (fields: readonly string[]): string => `${fields.map(toField).join(',')}\r\n`;
