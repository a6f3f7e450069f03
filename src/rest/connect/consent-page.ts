import { html, type Html } from '../docs/docs-page-html.ts';
import type { SignInPrompt } from '../../payments/sale/sign-in.ts';
import { pageShell } from '../page-shell.ts';
import { walletScript } from './wallet-script.ts';

export interface ConsentSubject {
  /** The name of this service for people. */
  service: string;
  /** The host of a client document; null: the client registered itself, and its name is its own. */
  clientHost: string | null;
  /** What the client calls itself. */
  clientName: string;
  redirect: { name: string; isProgram: boolean };
  /** The scopes that it asks for. */
  scopes: readonly string[];
  /** The address of the style sheet. */
  style: string;
  /** What a wallet signs to sign in; null: wallets have no accounts here. */
  prompts: readonly SignInPrompt[] | null;
  /** Why the last try failed; null: this is the first. */
  problem: string | null;
}

const scopeTexts: Readonly<Record<string, string>> = {
  read: 'see your balance, jobs, results and receipts',
  generate: 'make images, videos and texts, which costs money',
  search: 'search for profiles, which may cost money',
};

/** Makes the page on which a person allows an assistant to use an account. Only a wallet needs its script. */
export const consentPage = (subject: ConsentSubject): string => {
  const { service, clientHost, redirect } = subject;
  const title = `Connect an assistant to ${service}`;
  return pageShell({
    title,
    style: subject.style,
    body: html`<body class="single">
      <main>
        <header>
          <p class="brand">${service}</p>
          <h1>
            ${clientHost === null ? 'A program' : html`<bdi>${clientHost}</bdi>`} wants to use your account
          </h1>
          <p class="lead">
            You return to <strong><bdi>${redirect.name}</bdi></strong
            >.
          </p>
          <p>It calls itself <bdi>${subject.clientName}</bdi>. Anybody can use this name.</p>
        </header>
        ${redirect.isProgram ? programWarning : null}
        ${subject.problem === null ? null : html`<p class="notice" role="alert">${subject.problem}</p>`}
        <form method="post">
          <fieldset>
            <legend>It may</legend>
            ${subject.scopes.map(
              (scope) =>
                html`<p>
                  <label>
                    <input type="checkbox" name="scope" value="${scope}" checked />
                    ${scopeTexts[scope] ?? scope}
                  </label>
                </p>`,
            )}
          </fieldset>
          <fieldset>
            <legend>It may spend at most, in US dollars</legend>
            <p>
              <label for="budget-day">A day (UTC)</label>
              <input id="budget-day" name="budget_day_usd" inputmode="decimal" value="5.00" />
            </p>
            <p>
              <label for="budget-total">In all</label>
              <input id="budget-total" name="budget_total_usd" inputmode="decimal" value="50.00" />
            </p>
            <p>Leave one of them empty for no such limit.</p>
          </fieldset>
          <p>
            <label for="key">Your API key of ${service}</label>
            <input id="key" name="key" type="password" autocomplete="off" required />
          </p>
          <p>
            <button name="answer" value="allow">Allow</button>
            ${subject.prompts === null ? null : walletButton(subject.prompts)}
            <button name="answer" value="refuse" formnovalidate>Refuse</button>
          </p>
        </form>
        ${subject.prompts === null ? null : walletParts}
        <footer>
          <p>The connection ends when you revoke it, or the key. It sees no key, and makes none.</p>
          ${subject.prompts === null ? null : html`<p>With a wallet it ends after 30 days at the latest.</p>`}
        </footer>
      </main>
    </body>`,
  });
};

const walletButton = (prompts: readonly SignInPrompt[]): Html => html`
  <button type="button" id="sign" data-prompts="${JSON.stringify(prompts)}" hidden>
    Allow with a wallet
  </button>
  <input type="hidden" name="wallet" />
`;

/** The policy of the page has the hash of exactly this text. */
const script: Html = { markup: `<script>${walletScript}</script>` };
const walletParts: Html = html`<p class="notice" role="alert" id="wallet-problem" hidden></p>
  ${script}`;

const programWarning: Html = html`<p class="notice">
  <strong>This is a program on this computer.</strong> Allow it only if you have just started to connect it
  yourself.
</p>`;

/** Makes the page for a request that has ended. */
export const expiredPage = ({ service, style }: Pick<ConsentSubject, 'service' | 'style'>): string =>
  pageShell({
    title: `${service}: this request has ended`,
    style,
    body: html`<body class="single">
      <main>
        <h1>This request has ended</h1>
        <p>Go back to your assistant, and connect again.</p>
      </main>
    </body>`,
  });
