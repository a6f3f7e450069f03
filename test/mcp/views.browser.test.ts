import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';
import { useChromium } from '../use-chromium.ts';
import { startViewHost, type ShownView, type ViewOptions } from './view-host.ts';

let gateway: TestGateway;
let client: Client;
let host: Awaited<ReturnType<typeof startViewHost>>;
const visit = useChromium();
beforeAll(async () => {
  gateway = await startTestGateway();
  host = await startViewHost(visit);
  client = new Client({ name: 'host', version: '1' });
  const headers = { authorization: `Bearer ${gateway.apiKey}` };
  const url = new URL(`${gateway.url}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
});
afterAll(async () => {
  await client.close();
  await host.close();
  await gateway.stop();
});

type Shown = Partial<ViewOptions> & Pick<ViewOptions, 'tool' | 'result'>;

const show = async (name: string, options: Shown): Promise<ShownView> => {
  const [page] = (await client.readResource({ uri: `ui://gateway/${name}` })).contents;
  if (page === undefined || !('text' in page)) throw new Error(`the view ${name} is no text`);
  const { ui } = page._meta as { ui: { csp: { resourceDomains: string[] } } };
  const view = { text: page.text, resourceDomains: ui.csp.resourceDomains };
  return host.open({ view, theme: 'light', width: 800, ...options });
};

const callTool = (name: string, input: Record<string, unknown>) =>
  client.callTool({ name, arguments: input });

const attack = '<img src="https://elsewhere.example/x.png" onerror="parent.hacked = true">';

const creators: { username: string; bio?: string; [field: string]: unknown }[] = [
  {
    username: 'coffee.with.ana',
    full_name: 'Ana Reyes',
    followers: 48_200,
    following: 310,
    is_verified: true,
    is_business: true,
    category: 'Food',
    bio: 'Slow mornings.',
    public_email: 'ana@example.com',
    media_count: 120,
    gender: 'female',
    country: 'US',
    city: 'Austin',
  },
  { username: attack, full_name: attack, followers: 900, bio: attack.repeat(20), category: attack },
  {
    username: 'مرحبا',
    full_name: 'نورا العتيبي',
    followers: 7_000,
    bio: 'شاي وقهوة '.repeat(200),
    city: 'دبي',
  },
  {
    username: 'w'.repeat(400),
    full_name: 'W'.repeat(400),
    followers: 999_999_999,
    category: 'W'.repeat(400),
    city: 'W'.repeat(400),
    public_email: `${'w'.repeat(400)}@example.com`,
    bio: 'W'.repeat(3_000),
  },
  ...Array.from({ length: 16 }, (_, index) => ({
    username: `creator.${index}`,
    full_name: `Creator ${index}`,
    followers: 1_000 + index,
  })),
];
const leads = { content: [], structuredContent: { results: creators, count: creators.length } };
const job = { id: 'f6b1', model: 'imagemodel-1.0', status: 'running', data: [], error: null, usage: {} };
const answer = (changes: object, more: object = {}) => ({
  content: [],
  structuredContent: { ...job, ...changes },
  ...more,
});

/** Results by a name for the test, with the view that shows them. */
const results: [what: string, view: string, tool: string, result: object][] = [
  ['profiles', 'leads', 'search_leads', leads],
  ['no profile', 'leads', 'search_leads', { content: [], structuredContent: { results: [], count: 0 } }],
  [
    'a result that the host cut',
    'leads',
    'search_leads',
    { content: [{ type: 'text', text: 'w'.repeat(9_000) }] },
  ],
  ['a job that works', 'job', 'create_video', answer({ progress: 40 }, { _meta: { 'x/hold-usd': '0.80' } })],
  ['a failed job', 'job', 'get_job', answer({ status: 'failed', error: { message: attack.repeat(30) } })],
  ['a refusal', 'job', 'create_image', { ...answer({ error: { message: attack } }), isError: true }],
  ['the balance', 'balance', 'get_balance', { content: [], structuredContent: { balance_usd: '24.96' } }],
];

const heightOf = async ({ frame }: ShownView): Promise<number> =>
  Number(await frame.evaluate('document.documentElement.getBoundingClientRect().height'));

/** The lowest contrast of any text with the page (WCAG 2). */
const leastContrast = async ({ frame }: ShownView): Promise<number> => {
  const least = await frame.evaluate(`(() => {
    const luminance = (color) => {
      const [r, g, b] = color.match(/[\\d.]+/g).map((part) => part / 255)
        .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const back = (element) => {
      const color = getComputedStyle(element).backgroundColor;
      return color === 'rgba(0, 0, 0, 0)' ? back(element.parentElement) : color;
    };
    const contrasts = [...document.querySelectorAll('p, td, a, button')].map((element) => {
      const pair = [luminance(getComputedStyle(element).color), luminance(back(element))];
      return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    });
    return Math.min(...contrasts);
  })()`);
  return Number(least);
};

/** Everything that holds for whatever a view shows. */
const expectSound = async (shown: ShownView, theme: 'light' | 'dark'): Promise<void> => {
  const { page, frame, errors, requests } = shown;
  expect(errors).toEqual([]);
  expect(requests.filter((url) => !url.startsWith(host.url) && !url.startsWith(gateway.url))).toEqual([]);
  expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
  expect(await heightOf(shown)).toBeLessThanOrEqual(500);
  // The host has made room for all of it, so nothing scrolls.
  await expect
    .poll(() => page.evaluate(`document.querySelector('iframe').clientHeight`))
    .toBe(Math.ceil(await heightOf(shown)));
  expect(await frame.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  const targets = `[...document.querySelectorAll('a, button')].map((target) => target.getBoundingClientRect())`;
  expect(
    await frame.evaluate(
      `${targets}.filter(({ width, height }) => width > 0 && Math.min(width, height) < 44)`,
    ),
  ).toEqual([]);
  expect(await leastContrast(shown)).toBeGreaterThanOrEqual(4.5);
  const color = String(await frame.evaluate('getComputedStyle(document.body).backgroundColor'));
  expect(color === 'rgb(255, 255, 255)' ? 'light' : 'dark').toBe(theme);
};

describe.each(results)('the view of %s', (_what, name, tool, result) => {
  it.each([
    ['light', 320],
    ['dark', 320],
    ['light', 800],
    ['dark', 800],
  ] as const)('is whole, readable and harmless in the %s theme at %i pixels', async (theme, width) => {
    const shown = await show(name, { tool, result, theme, width });
    await expect.poll(() => shown.frame.locator('main').textContent()).not.toBe('');
    await expectSound(shown, theme);
    await shown.page.close();
  });
});

const firstCells = ({ frame }: ShownView) => frame.locator('tbody tr td:first-child').allTextContents();

describe('the view of leads', () => {
  it('sorts by a click on a head, turns pages, and opens a profile through the host', async () => {
    const shown = await show('leads', { tool: 'search_leads', result: leads });
    const { frame, links } = shown;
    expect((await firstCells(shown))[0]).toBe('coffee.with.ana');
    const head = frame.getByRole('columnheader', { name: 'Followers' });
    await head.getByRole('button').click();
    expect(await head.getAttribute('aria-sort')).toBe('descending');
    expect((await firstCells(shown))[0]).toBe('w'.repeat(400));
    await head.getByRole('button').click();
    expect(await head.getAttribute('aria-sort')).toBe('ascending');
    expect((await firstCells(shown))[0]).toBe(attack);
    await frame.getByRole('button', { name: 'Next' }).click();
    expect(await frame.getByRole('status').textContent()).toBe('8 to 14 of 20');
    await frame.getByRole('button', { name: 'Previous' }).click();
    await frame.getByRole('link', { name: attack }).click();
    await expect.poll(() => links).toEqual([`https://www.instagram.com/${encodeURIComponent(attack)}/`]);
    await shown.page.close();
  });

  it.each([320, 800])('shows all that is known of each profile, by keyboard, at %i pixels', async (width) => {
    const shown = await show('leads', { tool: 'search_leads', result: leads, width, theme: 'dark' });
    const { page, frame } = shown;
    for (const { username, bio = '' } of creators.slice(0, 4)) {
      await frame.getByRole('button', { name: `More of ${username}` }).focus();
      await page.keyboard.press('Enter');
      expect(await frame.locator('main').textContent()).toContain(bio);
      await expectSound(shown, 'dark');
      await page.keyboard.press('Enter');
      const focused = await frame.evaluate(`document.activeElement.ariaLabel`);
      expect(focused).toBe(`More of ${username}`);
    }
    for (const fact of [
      '48,200 followers',
      '310 following',
      '120 posts',
      'Food',
      'Austin, US',
      'ana@example.com',
    ]) {
      await frame.getByRole('button', { name: 'More of coffee' }).click();
      expect(await frame.locator('main').textContent()).toContain(fact);
      await frame.getByRole('button', { name: 'Back' }).click();
    }
    await page.close();
  });

  it('says what an unpaid search costs', async () => {
    const result = await client.callTool({ name: 'search_leads', arguments: { query: 'coffee' } });
    const shown = await show('leads', { tool: 'search_leads', result });
    expect(await shown.frame.locator('main').textContent()).toMatch(
      /^This call costs \$0\.10 and is not paid\./,
    );
    await shown.page.close();
  });
});

describe('the view of a job', () => {
  it('follows an image to its end through the host, and shows the picture and its price', async () => {
    const input = { model: 'imagemodel-1.0', prompt: 'a lighthouse', async: true };
    const result = await callTool('create_image', input);
    expect(result.structuredContent).not.toMatchObject({ status: 'done' });
    const shown = await show('job', { tool: 'create_image', input, result, callTool });
    const picture = shown.frame.getByRole('img', { name: 'a lighthouse' });
    await picture.waitFor();
    await expect.poll(() => shown.frame.evaluate('document.images[0].naturalWidth')).toBeGreaterThan(0);
    expect(await shown.frame.locator('main').textContent()).toContain('Done · imagemodel-1.0 · $0.04');
    expect(new Set(shown.calls)).toEqual(new Set(['get_job']));
    await shown.frame.getByRole('link', { name: 'Open' }).click();
    await expect.poll(() => shown.links).toEqual([await picture.getAttribute('src')]);
    await expectSound(shown, 'light');
    const { length } = shown.calls;
    // It has ended, so nothing more is asked for.
    await shown.page.clock.fastForward(60_000);
    expect(shown.calls).toHaveLength(length);
    await shown.page.close();
  });

  it('follows a film to its end through the host, and plays it from its address', async () => {
    const input = { model: 'videomodel-2.0', prompt: 'waves', duration: 4, resolution: '480p' };
    const result = await callTool('create_video', input);
    const shown = await show('job', { tool: 'create_video', input, result, callTool, theme: 'dark' });
    await shown.frame.locator('video').waitFor();
    await expect
      .poll(() => shown.frame.evaluate(`document.querySelector('video').videoWidth`))
      .toBeGreaterThan(0);
    expect(new Set(shown.calls)).toEqual(new Set(['get_video']));
    await shown.frame.getByRole('link', { name: 'Open' }).click();
    await expect.poll(() => shown.links).toEqual([expect.stringContaining(`${gateway.url}/films/`)]);
    await expectSound(shown, 'dark');
    await shown.page.close();
  });

  it('reads no job again whose state was read', async () => {
    const shown = await show('job', { tool: 'get_job', result: answer({}), callTool });
    await shown.page.clock.fastForward(60_000);
    expect(shown.calls).toEqual([]);
    await shown.page.close();
  });

  it('asks for patience where the host lets views call no tools', async () => {
    const shown = await show('job', { tool: 'create_video', result: answer({}) });
    expect(await shown.frame.locator('main').textContent()).toContain('Ask the assistant for its result.');
    await shown.page.close();
  });
});

describe('the view of the balance', () => {
  it('reads the balance again through the host', async () => {
    const result = { content: [], structuredContent: { balance_usd: '999.00', currency: 'USD' } };
    const shown = await show('balance', { tool: 'get_balance', result, callTool });
    await shown.frame.getByRole('button', { name: 'Read again' }).click();
    const { balance_usd: now } = (await callTool('get_balance', {})).structuredContent as Record<
      string,
      string
    >;
    await expect.poll(() => shown.frame.locator('.amount').textContent()).toBe(`$${now}`);
    await shown.page.close();
  });
});

describe('a view in a host that changes its theme', () => {
  it('follows', async () => {
    const result = { content: [], structuredContent: { balance_usd: '1.00' } };
    const shown = await show('balance', { tool: 'get_balance', result, theme: 'light' });
    await shown.page.evaluate(`bridge.setHostContext({ theme: 'dark' })`);
    await expect
      .poll(() => shown.frame.evaluate('getComputedStyle(document.body).backgroundColor'))
      .toBe('rgb(15, 20, 25)');
    await shown.page.close();
  });
});
