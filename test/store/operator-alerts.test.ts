import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { start } from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const url = 'https://operator.example';
const minute = 60_000;

describe.each(testEngines())('what operators are told of, on $kind', ({ create }) => {
  let data: TestStore;
  let subject: string;
  beforeAll(async () => {
    data = await create();
  });
  beforeEach(({ task }) => {
    subject = task.id;
  });
  afterAll(() => data.remove());

  const hold = (now: number, from = data.store) =>
    from.holdAlert({ alert: 'disk_low', subject, message: 'The disk is full.', url, now });
  const end = (seenBefore: number, from = data.store) => from.endAlerts({ seenBefore, url, now: start + 9 });
  const told = async () => {
    const events = await data.store.listWebhooks({ limit: 100 });
    const bodies = events.map(({ accountId, event, jobId, body }) => ({
      ...{ accountId, event, jobId },
      ...(JSON.parse(body) as { subject: string; message: string | null; created_at: string }),
    }));
    return bodies.filter((body) => body.subject === subject).toReversed();
  };

  it('is one event at its beginning, and one at its end', async () => {
    for (const later of [0, 1, 2]) await hold(start + later);
    await end(start + 2);
    expect(await told()).toHaveLength(1);
    await end(start + 3);
    await end(start + 3);
    const both = { accountId: null, jobId: null, alert: 'disk_low', subject, event_id: expect.any(String) };
    const began_at = new Date(start).toISOString();
    const ended_at = new Date(start + 9).toISOString();
    expect(await told()).toEqual([
      {
        ...{ ...both, began_at, created_at: began_at },
        ...{ event: 'alert.began', type: 'alert.began', message: 'The disk is full.' },
      },
      {
        ...{ ...both, began_at, created_at: ended_at },
        ...{ event: 'alert.ended', type: 'alert.ended', message: null },
      },
    ]);
  });

  it('begins anew after its end', async () => {
    await hold(start);
    await end(start + minute);
    await hold(start + 2 * minute);
    expect((await told()).map(({ event }) => event).toSorted()).toEqual([
      'alert.began',
      'alert.began',
      'alert.ended',
    ]);
  });

  it('is told once by several processes that look at the same moment', async () => {
    const other = await data.openAnother();
    await Promise.all([hold(start), hold(start, other), hold(start), hold(start, other)]);
    expect(await told()).toHaveLength(1);
    await Promise.all([end(start + 1), end(start + 1, other), end(start + 1), end(start + 1, other)]);
    expect(await told()).toHaveLength(2);
  });

  it('is no event of an account, which cannot have it sent again', async () => {
    await hold(start);
    const [event] = await data.store.listWebhooks({ limit: 1 });
    const eventId = event?.id ?? '';
    expect(await data.store.redeliverWebhook({ eventId, accountId: '', now: start })).toBeNull();
    expect(await data.store.getDelivery({ id: eventId, accountId: '' })).toBeNull();
    expect(await data.store.redeliverWebhook({ eventId, now: start })).toMatchObject({ id: eventId });
  });
});
