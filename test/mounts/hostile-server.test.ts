import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../e2e/start-test-gateway.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { hostileProgram } from './mount-yaml.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startMountingGateway(
    {
      hostile: {
        args: [hostileProgram],
        env: ['NAMED'],
        prices: {
          count: 1,
          die: 1,
          large: 1,
          refuse: 1,
          lie: 0.5,
          misshape: 1,
          promise: 1,
          beg: 1,
          beg_escaped: 1,
          beg_structured: 1,
        },
      },
    },
    { NAMED: 'yes', OTHER: 'secret' },
  );
  await acceptToolsOf(gateway.services, 'hostile');
});
afterAll(() => gateway.stop());

const call = (tool: string, options: { body?: object; key?: string } = {}): Promise<Response> =>
  gateway.call(`/v1/tools/hostile/${tool}`, {
    body: options.body ?? {},
    ...(options.key === undefined ? {} : { headers: { 'idempotency-key': options.key } }),
  });
const textOf = async (answer: Response): Promise<string> => {
  const { content } = (await answer.json()) as { content: { text: string }[] };
  return content[0]?.text ?? '';
};
const charge = (answer: Response): string | null => answer.headers.get('x-causeway-charge-usd');
const offered = async (): Promise<string[]> =>
  (await gateway.services.mounts.offered()).map(({ tool }) => tool);

describe('a server that means harm', () => {
  it('loses only the tools that are broken or hide something', async () => {
    const rows = await gateway.services.store.listMountedTools('hostile');
    const problems = rows.flatMap(({ tool, problem }) => (problem === null ? [] : [[tool, problem]]));
    expect(Object.fromEntries(problems)).toEqual({
      broken: 'One of its schemas is not valid.',
      formless: 'Its inputSchema is no schema of an object.',
      hidden: 'It has control characters or invisible characters.',
      long: 'Its description is no text of at most 8000 characters.',
      reference: 'A schema refers to another document ($ref).',
      twice: 'The server lists two tools of this name.',
    });
    expect(rows.map(({ tool }) => tool)).not.toContain('dotted.name');
    expect(await offered()).toContain('echo');
    expect(await offered()).not.toContain('broken');
  });

  it('speaks to nobody in our name, and learns nothing of the caller', async () => {
    const answer = await call('lie');
    expect(await answer.json()).toEqual({
      content: [
        { type: 'text', text: 'lies' },
        { type: 'resource', resource: { uri: 'a:b', text: 'c' } },
      ],
      structuredContent: { a: 1 },
    });
    expect(Object.keys(JSON.parse(await textOf(await call('meta'))))).toEqual(['progressToken']);
    const environment = JSON.parse(await textOf(await call('environment'))) as object;
    expect(Object.keys(environment).toSorted()).toEqual(['NAMED', 'PATH']);
  });

  it('is paid for no failure', async () => {
    for (const begging of ['beg', 'beg_escaped', 'beg_structured']) {
      const answer = await call(begging);
      expect([begging, charge(answer)]).toEqual([begging, '0.00']);
      expect(await textOf(answer)).toMatch(/asks for a payment, which this gateway does not make/);
    }
    const refused = await call('refuse');
    expect(charge(refused)).toBe('0.00');
    expect(await textOf(refused)).toMatch(/no such argument/);
    const large = await call('large');
    expect(charge(large)).toBe('0.00');
    expect(await textOf(large)).toMatch(/longer than 1048576 characters/);
  });

  it.each([
    ['a text that is a number', { type: 'text', text: 5 }],
    ['a picture without its type', { type: 'image', data: 'AAAA' }],
    ['a picture that is no base64', { type: 'image', data: 'data:,', mimeType: 'image/png' }],
    ['a link without a name', { type: 'resource_link', uri: 'a:b' }],
    ['a resource without contents', { type: 'resource', resource: { uri: 'a:b' } }],
    ['a resource that is none', { type: 'resource', resource: 'a:b' }],
    ['annotations of another form', { type: 'text', text: 'a', annotations: 'x' }],
  ])('is not paid for %s, which clients could not read', async (_what, item) => {
    const answer = await call('misshape', { body: { arguments: { content: [item] } } });
    expect(charge(answer)).toBe('0.00');
    expect(await textOf(answer)).toBe('The server of this tool answered in a wrong form.');
  });

  it('is paid for a result that has null where it has nothing to say', async () => {
    const item = { type: 'text', text: 'a', annotations: null };
    const answer = await call('misshape', { body: { arguments: { content: [item] } } });
    expect(charge(answer)).toBe('1.00');
    expect(await answer.json()).toEqual({ content: [{ type: 'text', text: 'a' }] });
  });

  it.each([
    ['without the structured content', {}],
    ['with other structured content than', { answer: { n: 'no number' } }],
  ])('is not paid for an answer %s that its tool promises', async (_what, input) => {
    const answer = await call('promise', { body: { arguments: input } });
    expect(charge(answer)).toBe('0.00');
    expect(await textOf(answer)).toBe('The server of this tool answered in a wrong form.');
  });

  it('is paid for the structured content that its tool promises', async () => {
    const answer = await call('promise', { body: { arguments: { answer: { n: 1 } } } });
    expect(charge(answer)).toBe('1.00');
    expect(await answer.json()).toMatchObject({ structuredContent: { n: 1 } });
  });

  it.each([
    ['keeps', 'is as its tool promises', { n: 1 }],
    ['loses', 'is not, which a client of the first SDK throws for', { n: 'no number' }],
  ])('%s the structured content of a failure that %s', async (does, _what, structuredContent) => {
    const answer = await call('promise', {
      body: { arguments: { answer: structuredContent, isError: true } },
    });
    expect(charge(answer)).toBe('0.00');
    expect(await answer.json()).toEqual({
      content: [{ type: 'text', text: 'content' }],
      ...(does === 'keeps' ? { structuredContent } : {}),
      isError: true,
    });
  });

  it('is no more compared with what its tool promises once that has taken too long', async () => {
    for (const structuredContent of [{ slow: `${'a'.repeat(60)}b` }, { n: 'no number' }]) {
      const answer = await call('promise', { body: { arguments: { answer: structuredContent } } });
      expect(charge(answer)).toBe('1.00');
      expect(await answer.json()).toMatchObject({ structuredContent });
    }
  });

  it('is sent arguments of two MiB, and longer ones are refused before a call is made of them', async () => {
    const send = (characters: number): Promise<Response> =>
      call('count', { body: { arguments: { text: 'x'.repeat(characters - '{"text":""}'.length) } } });
    const runs = Number(await textOf(await send(2 * 1024 ** 2)));
    const refused = await send(2 * 1024 ** 2 + 1);
    expect(refused.status).toBe(413);
    expect(await refused.json()).toMatchObject({ error: { code: 'payload_too_large' } });
    expect(Number(await textOf(await call('count')))).toBe(runs + 1);
  });

  it('is not asked again after it died in a call, and serves other calls soon', async () => {
    const first = await call('die', { key: 'die-1' });
    expect(first.status).toBe(502);
    expect(await first.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
    const again = await call('die', { key: 'die-1' });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-should-retry')).toBe('false');
    expect(await again.json()).toMatchObject({ error: { code: 'outcome_unknown' } });
    expect(charge(again)).toBe('0.00');
    await expect.poll(async () => (await call('echo')).status, { timeout: 30_000 }).toBe(200);
  });

  it('frees the key of a call that was never sent', async () => {
    await call('die');
    const answers: number[] = [];
    await expect
      .poll(
        async () => {
          const { status } = await call('count', { key: 'count-1' });
          answers.push(status);
          return status;
        },
        { timeout: 30_000 },
      )
      .toBe(200);
    expect(new Set(answers.slice(0, -1)).size).toBeLessThanOrEqual(1);
    for (const status of answers.slice(0, -1)) expect(status).toBe(503);
    expect(await textOf(await call('count', { key: 'count-1' }))).toBe('1');
  });

  it('has a tool held back that changed, until an operator accepts it again', async () => {
    await call('change');
    await expect.poll(offered, { timeout: 30_000 }).not.toContain('echo');
    expect((await call('echo')).status).toBe(404);
    expect(await offered()).toContain('count');
    await acceptToolsOf(gateway.services, 'hostile', 'echo');
    await expect.poll(offered, { timeout: 30_000 }).toContain('echo');
    expect((await call('echo')).status).toBe(200);
  });

  it('leaves the ledger exact', async () => {
    expect(await gateway.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
  });
});
