import { addressMark } from '../../payments/sale/sign-in.ts';
import { scriptSource } from '../page-shell.ts';

/**
 * The one script of the pages on which a person signs in: a wallet of the browser (EIP-1193, or a Solana wallet) signs the prompt that the
 * button has, and the form is sent with it.
 */
export const walletScript = `
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
