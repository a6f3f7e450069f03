import type { AnswerRules } from './http-source.ts';
import type { LeadQuery } from '../lead-source.ts';
import { follow, parseJson, parsePointer } from '../json-pointer.ts';
import { createLeadFieldReader } from './lead-fields.ts';
import { toLeads, type FoundLeads } from './to-leads.ts';

export interface AnswerToRead {
  /** JSON. */
  bytes: Uint8Array;
  query: LeadQuery;
  rules: AnswerRules;
}

export interface ReadAnswer extends FoundLeads {
  /** Rows above `maxRows`. */
  unread: number;
}

/** Makes the answer of a search from an upstream's answer; null when that is not JSON with the list. */
export const readAnswer = async ({ bytes, query, rules }: AnswerToRead): Promise<ReadAnswer | null> => {
  const { results, nothing, fields, words, defaults, maxRows } = rules;
  const list = follow(parseJson(bytes), parsePointer(results));
  if (!Array.isArray(list)) return null;
  const found: unknown[] = nothing === null ? list : list.filter((row) => !saysNothing(row, nothing));
  const rows = found.slice(0, maxRows);
  const leads = await toLeads(rows, { query, read: createLeadFieldReader(fields), words, defaults });
  return { ...leads, unread: found.length - rows.length };
};

const saysNothing = (row: unknown, { at, values }: NonNullable<AnswerRules['nothing']>): boolean => {
  const told = follow(row, parsePointer(at));
  return values.some((value) => value === told);
};
