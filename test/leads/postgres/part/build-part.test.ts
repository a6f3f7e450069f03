import { describe, expect, it } from 'vitest';
import { createPartBuilder } from '../../../../src/leads/postgres/part/build-part.ts';
import { buildLead } from '../../build-lead.ts';

describe('a part', () => {
  it('is full when its profiles have as many terms as it may have, and the next one begins empty', () => {
    const builder = createPartBuilder({ profiles: 100, terms: 30, pairs: 1_000 });
    const words = (from: number): string =>
      Array.from({ length: 20 }, (_, index) => `word${'abcdefghij'.charAt(index % 10)}${from + index}`).join(
        ' ',
      );
    builder.add(buildLead({ bio: words(0) }));
    expect(builder.isFull).toBe(false);
    builder.add(buildLead({ bio: words(20) }));
    expect(builder.isFull).toBe(true);
    expect(builder.finish().profiles).toBe(2);
    expect(builder.isFull).toBe(false);
    builder.add(buildLead({ bio: words(0) }));
    expect(builder.isFull).toBe(false);
  });
});
