import { readFile } from 'node:fs/promises';
import { iconPath } from '../../kit/icon.ts';
import { html, prose, type Html } from './docs-page-html.ts';
import {
  operationSection,
  type PageContext,
  type PlacedOperation,
  type ShownOperation,
} from './docs-page-operation.ts';
import { membersOf, typeOf, type ShownSchema } from './docs-page-schema.ts';
import { pageShell } from '../page-shell.ts';

interface ShownDocument {
  info: { title: string; version: string; summary: string; description: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, ShownOperation>>;
  webhooks: Record<string, Record<string, ShownOperation>>;
  components: { schemas: Record<string, ShownSchema> };
}

export interface DocsFile {
  /** The media type without its charset, which is UTF-8. */
  type: string;
  body: string;
  /** The one script that the page may run. */
  script?: string;
}

/** Makes the files of `/docs`, by address, from the interface description. */
export const createDocsPage = async (
  openApi: string,
): Promise<Readonly<Record<'/docs' | '/docs/style.css', DocsFile>>> => {
  const [script = '', style = ''] = await Promise.all(
    ['search.js', 'style.css'].map((name) => readFile(new URL(name, import.meta.url), 'utf8')),
  );
  return {
    '/docs': {
      type: 'text/html',
      body: page(JSON.parse(openApi) as ShownDocument, { markup: `<script>${script}</script>` }),
      script,
    },
    '/docs/style.css': { type: 'text/css', body: style },
  };
};

const placed = (paths: ShownDocument['paths']): PlacedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );

const page = (document: ShownDocument, script: Html): string => {
  const { info, tags, components } = document;
  const operations = placed(document.paths);
  const callbacks = placed(document.webhooks);
  const baseUrl = document.servers[0]?.url ?? '';
  const context = { baseUrl, schemas: components.schemas };
  const ofTag = (name: string): PlacedOperation[] =>
    operations.filter(({ operation }) => operation.tags.includes(name));
  return pageShell({
    title: `${info.title}: the interface`,
    style: 'docs/style.css',
    icon: iconPath.slice(1),
    body: html`<body>
      <a class="skip" href="#content">Skip to the content</a>
      <nav aria-label="Operations">
        <p class="brand">${info.title}</p>
        <div class="search" hidden>
          <label for="search-words">Search</label>
          <input id="search-words" type="search" autocomplete="off" aria-keyshortcuts="/" />
          <p id="search-status" role="status"></p>
        </div>
        <details>
          <summary>Contents</summary>
          ${tags.map(({ name }) => navigation(name, ofTag(name)))} ${navigation('callbacks', callbacks)}
          <ul>
            <li><a href="#schemas">Schemas</a></li>
            <li><a href="openapi.json">openapi.json</a></li>
          </ul>
        </details>
      </nav>
      <main id="content">
        <header>
          <h1>${info.title} <small>${info.version}</small></h1>
          <p class="lead">${info.summary}</p>
          ${prose(info.description)}
          <p>
            The base address is <code>${baseUrl}</code>. For tools: <a href="openapi.json">openapi.json</a>.
          </p>
        </header>
        ${tags.map(({ name, description }) => group(name, description, ofTag(name), context))}
        ${group('callbacks', 'What this service sends to an address of yours.', callbacks, context)}
        ${schemasSection(components.schemas)}
      </main>
      ${script}
    </body>`,
  });
};

const capitalised = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const navigation = (name: string, operations: readonly PlacedOperation[]): Html =>
  html`<p class="tag">${capitalised(name)}</p>
    <ul>
      ${operations.map(
        ({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`,
      )}
    </ul>`;

const group = (
  name: string,
  description: string,
  operations: readonly PlacedOperation[],
  context: PageContext,
): Html =>
  html`<section>
    <h2 id="${name}">${capitalised(name)}</h2>
    ${prose(description)} ${operations.map((operation) => operationSection(operation, context))}
  </section>`;

const schemasSection = (schemas: ShownDocument['components']['schemas']): Html =>
  html`<section>
    <h2 id="schemas">Schemas</h2>
    ${Object.entries(schemas).map(
      ([name, schema]) =>
        html`<details class="schema">
          <summary><span class="name">${name}</span></summary>
          <div class="body" id="schema-${name}">
            ${schema.description === undefined ? null : prose(schema.description)}
            ${membersOf(schema) ?? html`<p class="type">${typeOf(schema)}</p>`}
          </div>
        </details>`,
    )}
  </section>`;
