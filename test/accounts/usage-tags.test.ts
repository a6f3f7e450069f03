import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createUsageTags, readUsageTag } from '../../src/accounts/usage-tags.ts';
import { addAccount } from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

const november = Date.UTC(2026, 10, 30, 23, 59);
const december = november + 60_000;

describe.each(testEngines())('tags of use on $kind', ({ create }) => {
  let data: TestStore;
  beforeAll(async () => {
    data = await create();
  });
  afterAll(() => data.remove());

  it('are 100 for each account and month, and all others are counted together', async () => {
    const [{ accountId }, other] = [await addAccount(data.store), await addAccount(data.store)];
    const tags = createUsageTags(data);
    for (let index = 0; index < 100; index += 1)
      expect(await tags.resolve(accountId, `tag ${index}`, november)).toBe(`tag ${index}`);
    expect(await tags.resolve(accountId, 'one more', november)).toBe('other');
    expect(await createUsageTags(data).resolve(accountId, 'tag 7', november)).toBe('tag 7');
    expect(await createUsageTags(data).resolve(accountId, 'one more', november)).toBe('other');
    expect(await tags.resolve(accountId, 'one more', december)).toBe('one more');
    expect(await tags.resolve(other.accountId, 'one more', november)).toBe('one more');
  });

  it('ask the store once a month', async () => {
    const { accountId } = await addAccount(data.store);
    let asked = 0;
    const tags = createUsageTags({
      store: {
        claimUsageTag: (input) => {
          asked += 1;
          return data.store.claimUsageTag(input);
        },
      },
    });
    for (const now of [november, november + 1, december, december + 1])
      expect(await tags.resolve(accountId, 'shop', now)).toBe('shop');
    expect(asked).toBe(2);
  });
});

describe('the tag that a call sends', () => {
  it.each([
    ['', null],
    ['a', 'a'],
    ['spring sale / 2026', 'spring sale / 2026'],
    ['x'.repeat(64), 'x'.repeat(64)],
  ])('is read from %j', (sent, tag) => expect(readUsageTag(sent)).toBe(tag));

  it.each([' a', 'a ', 'x'.repeat(65), 'tür', 'a\tb'])('is refused if it is %j', (sent) => {
    expect(() => readUsageTag(sent)).toThrow('X-Usage-Tag: must be 1 to 64 characters of ASCII');
    const msg = 'must be 1 to 64 characters of ASCII';
    expect(() => readUsageTag(sent)).toThrow(
      expect.objectContaining({
        param: 'X-Usage-Tag',
        issues: [{ loc: ['header', 'X-Usage-Tag'], msg, type: 'value_error' }],
      }),
    );
  });
});
