import type { ServiceDescription } from './describe-service.ts';
import { html, type Html } from './docs/docs-page-html.ts';
import { columnPage } from './page-shell.ts';

type Service = Pick<ServiceDescription, 'brand' | 'title' | 'url'>;

/** Makes the page for a person who opens an MCP address in a browser. `root`: the relative address of `/`. */
export const mcpPage = (service: Service, root: string): string =>
  columnPage({
    title: `${service.title}: MCP server`,
    style: `${root}docs/style.css`,
    main: html`<header>
        <p class="brand">${service.title}</p>
        <h1>This address is for assistants</h1>
        <p class="lead">
          It is an MCP server. You do not open it in a browser: you add it to your assistant.
        </p>
      </header>
      ${installGuide(service)}
      <section>
        <h2>With an API key</h2>
        <p>A program that sends a header needs no sign-in. For example Claude Code:</p>
        <pre tabindex="0"><code>${claudeCode(service, '/mcp')} \\
  --header "Authorization: Bearer &lt;API_KEY&gt;"</code></pre>
      </section>
      <footer>
        <p><a href="${root}">${service.title}</a> · <a href="${root}docs">Documentation</a></p>
      </footer>`,
  });

const claudeCode = ({ brand, url }: Service, path: string): string =>
  `claude mcp add --transport http ${brand} ${url}${path}`;

/** Says how a person adds this server to an assistant, and signs in. */
export const installGuide = (service: Service): Html => {
  const { brand, url } = service;
  const address = `${url}/mcp/account`;
  const commands = [
    claudeCode(service, '/mcp/account'),
    `codex mcp add ${brand} --url ${address}`,
    `gemini mcp add --transport http ${brand} ${address}`,
  ];
  return html`<section>
    <h2>Add this server to an assistant</h2>
    <p>The assistant opens a page here, on which you sign in and say how much it may spend.</p>
    <ul>
      <li>Claude, ChatGPT: add a custom connector with the address <code class="whole">${address}</code></li>
      <li><a class="act" href="${cursorLink(brand, address)}">Add to Cursor</a></li>
      <li><a class="act" href="${vsCodeLink(brand, address)}">Add to VS Code</a></li>
      <li>Claude Code, Codex or Gemini CLI: run its line in a terminal</li>
    </ul>
    <pre tabindex="0"><code>${commands.join('\n')}</code></pre>
  </section>`;
};

/** The address by which Cursor adds a server: https://cursor.com/docs/mcp/install-links */
const cursorLink = (name: string, url: string): string => {
  const config = Buffer.from(JSON.stringify({ url })).toString('base64');
  return `cursor://anysphere.cursor-deeplink/mcp/install?${new URLSearchParams({ name, config }).toString()}`;
};

/** The address by which VS Code adds a server: https://code.visualstudio.com/api/extension-guides/ai/mcp */
const vsCodeLink = (name: string, url: string): string =>
  `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name, type: 'http', url }))}`;
