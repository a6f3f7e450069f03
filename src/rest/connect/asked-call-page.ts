import type { SignInPrompt } from '../../payments/sale/sign-in.ts';
import { fact, html, type Html } from '../docs/docs-page-html.ts';
import { columnPage } from '../page-shell.ts';
import type { PageOwner } from './write-page.ts';
import { signInForm } from './sign-in-form.ts';

export interface AskedCallSubject extends PageOwner {
  /** The assistant; null: a program with an API key. */
  assistant: { host: string | null; name: string } | null;
  /** What the operation does, such as "Make an image". */
  title: string;
  model: string | null;
  /** The most that the call may cost, such as `$0.40`. */
  most: string;
}

/** What only the account sees. */
export interface AskedCallState {
  /** The balance, and what the assistant has spent and holds of its limits. */
  rows: readonly (readonly [name: string, value: string])[];
  /** How a person adds money; null: the balance covers the call. */
  howToPay: Html | null;
  /** What the form hands back; null: there is nothing to confirm. */
  token: string | null;
}

/** Makes the page on which a person signs in to see a call that waits. `problem`: why the last try failed; null: none did. */
export const askedCallPage = (
  subject: AskedCallSubject,
  { prompts, problem }: { prompts: readonly SignInPrompt[] | null; problem: string | null },
): string => {
  const { key, buttons, after } = signInForm({ ...subject, prompts }, 'Sign in');
  const form = html`${problem === null ? null : html`<p class="notice" role="alert">${problem}</p>`}
    <form method="post">
      ${key}
      <p>${buttons}</p>
    </form>
    ${after}
    <footer>
      <p>Sign in to the account that pays for the call. This confirms nothing yet.</p>
    </footer>`;
  return page(subject, [], form);
};

/** Makes the page on which a person who has signed in confirms or declines a call, or reads how to add money for it. */
export const decisionPage = (
  subject: AskedCallSubject,
  { rows, howToPay, token }: AskedCallState,
): string => {
  const short =
    howToPay &&
    html`<strong>The balance does not cover this call.</strong> ${howToPay} Then let the assistant call again.`;
  const notice = short ?? (token === null ? covered : null);
  const form = html`<form method="post">
    <input type="hidden" name="token" value="${token}" />
    <p>Your confirmation counts for this call alone, for ten minutes.</p>
    <p>
      <button name="answer" value="allow">Confirm this one call</button>
      <button name="answer" value="refuse">Decline</button>
    </p>
  </form>`;
  const part = notice && html`<p class="notice">${notice}</p>`;
  return page(subject, rows, html`${part} ${token === null ? null : form}`);
};

const covered = html`<strong>The balance covers this call.</strong> Let the assistant call again.`;

const page = (subject: AskedCallSubject, rows: AskedCallState['rows'], body: Html): string =>
  columnPage({
    title: `${subject.service}: ${heading}`,
    style: subject.style,
    main: html`<p class="brand">${subject.service}</p>
      <h1>${heading}</h1>
      <dl>${[...facts(subject), ...rows.map(([name, value]) => fact(name, value))]}</dl>
      ${body}`,
  });

const heading = 'A call waits for you';

const facts = ({ assistant, title, model, most }: AskedCallSubject): Html[] => [
  ...(assistant === null ? [] : [fact('Assistant', nameOf(assistant))]),
  fact('It wants to', html`<strong>${title}</strong>`),
  ...(model === null ? [] : [fact(model.includes('__') ? 'Tool' : 'Model', model)]),
  fact('Price', html`at most <strong>${most}</strong>, and nothing if it fails`),
];

/** Only a host is no invention of the assistant. */
const nameOf = ({ host, name }: NonNullable<AskedCallSubject['assistant']>): Html =>
  html`${host === null ? 'A program' : html`<bdi>${host}</bdi>`}, which calls itself <bdi>${name}</bdi>`;
