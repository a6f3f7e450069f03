import type { SignInPrompt } from '../../payments/sale/sign-in.ts';
import { html, type Html } from '../docs/docs-page-html.ts';
import { walletScript } from './wallet-script.ts';

interface SignIn {
  /** The name of this service for people. */
  service: string;
  /** What a wallet signs to sign in; null: wallets have no accounts here. */
  prompts: readonly SignInPrompt[] | null;
}

/** The parts of a form by which a person signs in: the field of the key, the buttons, and what follows the form. */
export const signInForm = ({ service, prompts }: SignIn, button: string) => ({
  key: html`<p>
    <label for="key">Your API key of ${service}</label>
    <input id="key" name="key" type="password" autocomplete="off" required />
  </p>`,
  buttons: html`<button name="answer" value="allow">${button}</button>
    ${prompts === null ? null : walletButton(prompts, button)}`,
  after: prompts === null ? null : walletParts,
});

const walletButton = (prompts: readonly SignInPrompt[], button: string): Html => html`
  <button type="button" id="sign" data-prompts="${JSON.stringify(prompts)}" hidden>
    ${button} with a wallet
  </button>
  <input type="hidden" name="wallet" />
`;

/** The policy of the page has the hash of exactly this text. */
const script: Html = { markup: `<script>${walletScript}</script>` };
const walletParts: Html = html`<p class="notice" role="alert" id="wallet-problem" hidden></p>
  ${script}`;
