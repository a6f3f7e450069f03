import { addressMark, type SignInPrompt } from '../../payments/sale/sign-in.ts';
import { html, type Html } from '../docs/docs-page-html.ts';
import { scriptSource } from '../page-shell.ts';

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

/**
 * The one script of the pages on which a person signs in: a wallet of the browser (EIP-1193, or a Solana wallet) signs the prompt that the
 * button has, and the form is sent with it.
 */
const walletScript = `
const form = document.querySelector('form');
const button = document.querySelector('#sign');
const prompts = JSON.parse(button.dataset.prompts);
const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const toBase58 = (bytes) => {
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = '';
  for (; number > 0n; number /= 58n) text = alphabet[Number(number % 58n)] + text;
  for (let index = 0; bytes[index] === 0; index += 1) text = '1' + text;
  return text;
};
const toHex = (bytes) => '0x' + [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const signers = {
  eip191: {
    wallet: () => window.ethereum,
    sign: async (wallet, toBytes) => {
      const [address] = await wallet.request({ method: 'eth_requestAccounts' });
      const params = [toHex(toBytes(address)), address];
      return { address, signature: await wallet.request({ method: 'personal_sign', params }) };
    },
  },
  ed25519: {
    wallet: () => window.solana,
    sign: async (wallet, toBytes) => {
      const address = (await wallet.connect()).publicKey.toString();
      const { signature } = await wallet.signMessage(toBytes(address), 'utf8');
      return { address, signature: toBase58([...signature]) };
    },
  },
};
button.hidden = false;
button.addEventListener('click', async () => {
  try {
    const prompt = prompts.find(({ type }) => signers[type].wallet());
    if (prompt === undefined) throw new Error('There is no wallet in this browser.');
    const { wallet, sign } = signers[prompt.type];
    const toBytes = (address) => new TextEncoder().encode(prompt.text.replace('${addressMark}', address));
    const signed = await sign(wallet(), toBytes);
    form.elements.wallet.value = JSON.stringify({ ...prompt.fields, ...signed });
    form.elements.key.required = false;
    form.requestSubmit(form.querySelector('[value=allow]'));
  } catch (error) {
    const problem = document.querySelector('#wallet-problem');
    problem.textContent = 'The wallet did not sign: ' + error.message;
    problem.hidden = false;
  }
});
`;

/** The source of that script for a Content-Security-Policy. */
export const walletScriptSource = scriptSource(walletScript);

/** The policy of the page has the hash of exactly this text. */
const script: Html = { markup: `<script>${walletScript}</script>` };
const walletParts: Html = html`<p class="notice" role="alert" id="wallet-problem" hidden></p>
  ${script}`;
