import { describe, expect, it } from 'vitest';
import { linkOnDemand, type StoreLink } from '../../../src/store/sqlite/worker-link.ts';
import { StoreError } from '../../../src/store/store-error.ts';

/** Links that answer with their own number, or fail with what `failures` has for the call. */
const makeLinks = (failures: (StoreError | null)[] = []) => {
  const opened: { isClosed: boolean }[] = [];
  const open = async (): Promise<StoreLink> => {
    const link = { isClosed: false };
    opened.push(link);
    const number = opened.length;
    return {
      call: async () => {
        const failure = failures.shift() ?? null;
        if (failure !== null) throw failure;
        return number;
      },
      close: async () => {
        link.isClosed = true;
      },
    };
  };
  return { opened, open };
};

describe('a worker on demand', () => {
  it('is started once, by the first call', async () => {
    const { opened, open } = makeLinks();
    const link = linkOnDemand(open);
    expect(opened).toHaveLength(0);
    expect(await Promise.all([link.call('ping', null), link.call('ping', null)])).toEqual([1, 1]);
    expect(await link.call('ping', null)).toBe(1);
  });

  it('is started again after it died, but not after a command failed', async () => {
    const { open } = makeLinks([new StoreError('failed', 'bad'), new StoreError('crashed', 'gone')]);
    const link = linkOnDemand(open);
    await expect(link.call('ping', null)).rejects.toThrow('bad');
    await expect(link.call('ping', null)).rejects.toThrow('gone');
    expect(await link.call('ping', null)).toBe(2);
  });

  it('is started again if it could not start', async () => {
    const { open } = makeLinks();
    let isFirst = true;
    const link = linkOnDemand(() => {
      if (!isFirst) return open();
      isFirst = false;
      return Promise.reject(new StoreError('failed', 'no room'));
    });
    await expect(link.call('ping', null)).rejects.toThrow('no room');
    expect(await link.call('ping', null)).toBe(1);
    await link.close();
  });

  it('is closed if it was started, and then refuses calls', async () => {
    const { opened, open } = makeLinks();
    const link = linkOnDemand(open);
    await link.call('ping', null);
    await link.close();
    expect(opened).toEqual([{ isClosed: true }]);
    await expect(link.call('ping', null)).rejects.toMatchObject({ reason: 'closed' });
    const unused = linkOnDemand(open);
    await unused.close();
    expect(opened).toHaveLength(1);
  });
});
