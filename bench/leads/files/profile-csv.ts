import type { Lead } from '../../../src/leads/lead-source.ts';
import { leadFields } from '../../../src/leads/lead-fields.ts';

export const csvHeader = `${leadFields.join(',')}\n`;

/** One line of RFC 4180 with its end; a bio with line breaks spans several. */
export const csvLine = (lead: Lead): string => {
  let line = '';
  for (const column of leadFields) line += `${line === '' ? '' : ','}${csvField(lead[column])}`;
  return `${line}\n`;
};

const csvField = (value: string | number | boolean | undefined): string => {
  if (value === undefined) return '';
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
