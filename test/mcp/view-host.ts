import { createServer } from 'node:http';
import { join } from 'node:path';
import type { BrowserContextOptions, Frame, Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { listenOnLoopback } from './listen-on-loopback.ts';

export interface ViewOptions {
  /** As `resources/read` answered it. */
  view: { text: string; resourceDomains: readonly string[] };
  theme: 'light' | 'dark';
  width: number;
  /** The tool that was called. */
  tool: string;
  input?: Record<string, unknown>;
  result: object;
  /** Answers the calls of the view. Absent: the host lets views call no tools. */
  callTool?: (name: string, input: Record<string, unknown>) => Promise<object>;
}

export interface ShownView {
  page: Page;
  frame: Frame;
  /** Addresses that the view had opened. */
  links: string[];
  /** Tools that the view called. */
  calls: string[];
  /** What the browser logged as an error. */
  errors: string[];
  /** Addresses that the browser asked for. */
  requests: string[];
}

/** The policy of the frame, as the specification makes it of the resource's metadata. */
const policyOf = (domains: string): string =>
  `default-src 'none'; script-src 'self' 'unsafe-inline' ${domains}; style-src 'self' 'unsafe-inline' ${domains}; ` +
  `img-src 'self' data: ${domains}; media-src 'self' data: ${domains}; connect-src 'none'; frame-src 'none'; base-uri 'none'`;

const hostPage =
  '<!doctype html><body style="margin:0"><iframe sandbox="allow-scripts" style="width:100%;border:0"></iframe>' +
  '<script type="module" src="/host.js"></script>';

const bundle = async (): Promise<string> => {
  const built = await rolldown({ input: join(import.meta.dirname, 'host-page.js'), platform: 'browser' });
  const { output } = await built.generate({ format: 'esm' });
  await built.close();
  return output[0].code;
};

/** Serves a page that shows views as the hosts of MCP Apps do: with the official AppBridge, in a sandboxed frame. */
export const startViewHost = async (visit: (options?: BrowserContextOptions) => Promise<Page>) => {
  const script = await bundle();
  const listening = await listenOnLoopback(
    createServer(({ url }, response) => {
      const isScript = url === '/host.js';
      response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
      response.end(isScript ? script : hostPage);
    }),
  );

  const open = async ({ view, width, ...options }: ViewOptions): Promise<ShownView> => {
    const { theme, tool, input = {}, result, callTool } = options;
    // The theme of the host decides, whatever the browser prefers.
    const colorScheme = theme === 'light' ? 'dark' : 'light';
    const page = await visit({ viewport: { width, height: 700 }, colorScheme });
    // Tests put it forward.
    await page.clock.install();
    const links: string[] = [];
    const calls: string[] = [];
    const errors: string[] = [];
    const requests: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    page.on('request', (request) => requests.push(request.url()));
    await page.exposeFunction('onOpenLink', (url: string) => links.push(url));
    await page.exposeFunction('onToolCall', (name: string, given: Record<string, unknown>) => {
      calls.push(name);
      if (callTool === undefined) throw new Error('this host lets views call no tools');
      return callTool(name, given);
    });
    await page.goto(listening.url);
    await page.waitForFunction('globalThis.showView !== undefined');
    const policy = policyOf(view.resourceDomains.join(' '));
    const shown = {
      html: view.text.replace(
        '<head>',
        `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`,
      ),
      context: { theme, toolInfo: { tool: { name: tool, inputSchema: { type: 'object' } } } },
      capabilities: { openLinks: {}, ...(callTool === undefined ? {} : { serverTools: {} }) },
      input,
      result,
    };
    await page.evaluate(`globalThis.showView(${JSON.stringify(shown)})`);
    const frame = page.frames()[1];
    if (frame === undefined) throw new Error('the host shows no frame');
    return { page, frame, links, calls, errors, requests };
  };
  return { open, url: listening.url, close: () => listening.close() };
};
