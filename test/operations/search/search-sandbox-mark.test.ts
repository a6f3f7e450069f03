import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import type { JsonObject } from '../../../src/kit/json.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import type { Services } from '../../../src/operations/call.ts';
import { createSearchLeads } from '../../../src/operations/search/search-leads.ts';
import { buildLead } from '../../leads/build-lead.ts';

const sale = createSearchLeads(readConfig({}, null).search).sale;
const servicesWith = (synthetic: boolean): Services =>
  ({ leads: { status: () => ({ ready: true, synthetic, profiles: 1, revision: '1' }) } }) as Services;
const resultOf = (...leads: object[]): JsonObject => ({
  results: leads.map((lead) => ({ ...lead })),
  count: leads.length,
});
const generated = [...generateLeads({ seed: 1, profiles: 2 })];

describe('the mark of sandbox data on a search', () => {
  it('is on generated profiles, also when they are given out once more after real ones were imported', () => {
    expect(sale.isSandbox(servicesWith(false), resultOf(...generated))).toBe(true);
  });

  it('is not on real profiles', () => {
    expect(sale.isSandbox(servicesWith(true), resultOf(buildLead()))).toBe(false);
  });

  it.each([true, false])(
    'follows the source before there is a result, and on an empty one (%s)',
    (synthetic) => {
      expect(sale.isSandbox(servicesWith(synthetic), null)).toBe(synthetic);
      expect(sale.isSandbox(servicesWith(synthetic), resultOf())).toBe(synthetic);
    },
  );
});
