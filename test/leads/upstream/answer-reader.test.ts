import { describe, expect, it } from 'vitest';
import { createAnswerReader } from '../../../src/leads/upstream/http-leads.ts';
import { buildLead } from '../build-lead.ts';

const answerOf = (value: unknown, blanks = 0) => ({
  bytes: Buffer.from(JSON.stringify(value) + ' '.repeat(blanks)),
  query: { limit: 5 },
  rules: { results: '', fields: {}, defaults: {}, words: 'check', maxRows: 10, nothing: null } as const,
});
const { signal } = new AbortController();
const large = 200_000;

describe('an answer of an upstream', () => {
  it('is read the same whether it is small or large', async () => {
    const reader = createAnswerReader({ timeoutMs: 10_000 });
    const value = [buildLead(), { username: 'no_followers' }];
    const small = await reader.read(answerOf(value), signal);
    expect(small).toMatchObject({ leads: [buildLead()], profiles: 1, refused: 1 });
    expect(await reader.read(answerOf(value, large), signal)).toEqual(small);
    expect(await reader.read(answerOf({ value }, large), signal)).toBeNull();
    await reader.close();
  });

  it('is read in a thread when it is large, of which none is started after the end', async () => {
    const reader = createAnswerReader({ timeoutMs: 10_000 });
    await reader.close();
    await expect(reader.read(answerOf([], large), signal)).rejects.toMatchObject({ reason: 'closed' });
    expect(await reader.read(answerOf([]), signal)).toMatchObject({ leads: [] });
  });

  it('is not waited for by a searcher who goes away', async () => {
    const reader = createAnswerReader({ timeoutMs: 10_000 });
    const leaver = new AbortController();
    const reading = reader.read(answerOf([buildLead()], large), leaver.signal);
    leaver.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
    await reader.close();
  });
});
