import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const seen = (tool: string, pin: string) => ({ tool, pin, definition: `{"name":"${tool}"}`, problem: null });

describe.each(testEngines())('the tools of mounted servers on $kind', ({ create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  const note = (...tools: ReturnType<typeof seen>[]): Promise<void> =>
    data.store.noteMountedTools({ server: 's', tools, now: 1 });
  const accept = async (...pins: { tool: string; pin: string }[]): Promise<string[]> => {
    const callId = newId();
    await data.store.startAudit({
      id: callId,
      at: 2,
      actor: 'cli:me',
      actorLabel: null,
      operation: 'accept_tools',
      input: '{}',
      requestId: null,
    });
    return data.store.acceptMountedTools({ server: 's', pins, now: 2, callId });
  };
  const list = async () =>
    (await data.store.listMountedTools(null)).map(({ tool, pin, acceptedPin }) => ({
      tool,
      pin,
      acceptedPin,
    }));

  it('are accepted by the pin that they have, and keep who accepted them and when', async () => {
    await note(seen('a', 'p1'), seen('b', 'p2'));
    expect(
      await accept({ tool: 'a', pin: 'p1' }, { tool: 'b', pin: 'other' }, { tool: 'c', pin: 'p' }),
    ).toEqual(['a']);
    const [first, second] = await data.store.listMountedTools('s');
    expect(first).toMatchObject({ accepted: '{"name":"a"}', acceptedAt: 2, acceptedBy: 'cli:me' });
    expect(second).toMatchObject({ accepted: null, acceptedBy: null });
    expect(await data.store.listAcceptedPins(undefined)).toEqual([{ server: 's', tool: 'a', pin: 'p1' }]);
    expect(await data.store.listMountedTools('other')).toEqual([]);
  });

  it('keep what was accepted when they change, and are forgotten only if nobody accepted them', async () => {
    await note(seen('a', 'p1'), seen('b', 'p2'));
    await accept({ tool: 'a', pin: 'p1' });
    await note(seen('a', 'p3'), seen('c', 'p4'));
    expect(await list()).toEqual([
      { tool: 'a', pin: 'p3', acceptedPin: 'p1' },
      { tool: 'c', pin: 'p4', acceptedPin: null },
    ]);
    await note(seen('c', 'p4'));
    expect(await list()).toEqual([
      { tool: 'a', pin: null, acceptedPin: 'p1' },
      { tool: 'c', pin: 'p4', acceptedPin: null },
    ]);
    const other = {
      server: 't',
      tools: [{ tool: 'a', pin: null, definition: null, problem: 'bad' }],
      now: 3,
    };
    await data.store.noteMountedTools(other);
    expect(await list()).toHaveLength(3);
  });
});
