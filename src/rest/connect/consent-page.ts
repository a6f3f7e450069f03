import { html, type Html } from '../docs/docs-page-html.ts';
import type { SignInPrompt } from '../../payments/sale/sign-in.ts';
import { columnPage } from '../page-shell.ts';
import type { PageOwner } from './write-page.ts';
import { signInForm } from './sign-in-form.ts';

export interface ConsentSubject extends PageOwner {
  /** The host of a client document; null: the client registered itself, and its name is its own. */
  clientHost: string | null;
  /** What the client calls itself. */
  clientName: string;
  redirect: { name: string; isProgram: boolean };
  /** The scopes that it asks for. `tools:files`: the tools of a mounted server. */
  scopes: readonly string[];
  /** What a wallet signs to sign in; null: wallets have no accounts here. */
  prompts: readonly SignInPrompt[] | null;
  /** Why the last try failed, and what it filled in; null: this is the first. */
  failed: { problem: string; form: URLSearchParams } | null;
}

const scopeTexts: Readonly<Record<string, string>> = {
  read: 'see your balance, jobs, results and receipts',
  generate: 'make images, videos and texts, which costs money',
  search: 'search for profiles, which may cost money',
};

const toolsText = (scope: string): Html =>
  html`use the tools of <bdi>${scope.replace('tools:', '')}</bdi>, made by others, which may change things and
    cost money`;

/** Makes the page on which a person allows an assistant to use an account. Only a wallet needs its script. */
export const consentPage = (subject: ConsentSubject): string => {
  const { service, clientHost, redirect, failed } = subject;
  const filled = (name: string, first: string): string => failed?.form.get(name) ?? first;
  const isTicked = (scope: string): boolean => failed?.form.getAll('scope').includes(scope) ?? true;
  const title = `Connect an assistant to ${service}`;
  const { key, buttons, after } = signInForm(subject, 'Allow');
  return columnPage({
    title,
    style: subject.style,
    main: html`<header>
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
      ${failed === null ? null : html`<p class="notice" role="alert">${failed.problem}</p>`}
      <form method="post">
        <fieldset>
          <legend>It may</legend>
          ${subject.scopes.map(
            (scope) =>
              html`<p>
                <label>
                  <input
                    type="checkbox"
                    name="scope"
                    value="${scope}"
                    ${isTicked(scope) ? html`checked` : null}
                  />
                  <span>${scopeTexts[scope] ?? toolsText(scope)}</span>
                </label>
              </p>`,
          )}
        </fieldset>
        <fieldset>
          <legend>It may spend at most, in US dollars</legend>
          ${amountField('A day (UTC)', 'budget_day_usd', filled('budget_day_usd', '5.00'))}
          ${amountField('In all', 'budget_total_usd', filled('budget_total_usd', '50.00'))}
          <p>Leave one of them empty for no such limit.</p>
          ${amountField(
            'Ask me before a call that may cost more than',
            'ask_above_usd',
            filled('ask_above_usd', ''),
          )}
          <p>Empty: it never asks.</p>
        </fieldset>
        ${key}
        <p>
          ${buttons}
          <button name="answer" value="refuse" formnovalidate>Refuse</button>
        </p>
      </form>
      ${after}
      <footer>
        <p>The connection ends when you revoke it, or the key. It sees no key, and makes none.</p>
        ${subject.prompts === null ? null : html`<p>With a wallet it ends after 30 days at the latest.</p>`}
      </footer>`,
  });
};

const amountField = (label: string, name: string, value: string): Html =>
  html`<p>
    <label for="${name}">${label}</label>
    <input id="${name}" name="${name}" inputmode="decimal" value="${value}" />
  </p>`;

const programWarning: Html = html`<p class="notice">
  <strong>This is a program on this computer.</strong> Allow it only if you have just started to connect it
  yourself.
</p>`;
