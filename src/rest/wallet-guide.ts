import { toSignedText } from '../payments/sale/gate.ts';
import type { ServiceDescription } from './describe-service.ts';

/** What a wallet signs to sign in, with the names of the fields in braces. */
const messageToSign = toSignedText(
  {
    domain: '{domain}',
    address: '{address}',
    statement: '{statement}',
    uri: '{uri}',
    version: '1',
    chainId: '{the number in chainId}',
    nonce: '{nonce}',
    issuedAt: '{issuedAt}',
    expirationTime: '{expirationTime}',
    signature: '',
  },
  { account: 'Ethereum', whenUnstated: [] },
);

/** Says all that a program needs which has a wallet and reads nothing else. Empty: wallets have no accounts here. */
export const walletGuide = ({ url, signIn }: ServiceDescription): { title: string; text: string }[] =>
  signIn === null
    ? []
    : [
        {
          title: 'To pay, step by step',
          text: `1. Send a call without a payment. The header \`PAYMENT-REQUIRED\` of the 402 is base64 of JSON: \`{"x402Version": 2, "resource", "accepts": [{"scheme", "network", "asset", "amount", "payTo", "maxTimeoutSeconds", "extra"}]}\`. \`amount\` is in the smallest unit of \`asset\`. \`quote\` in the body says how the price comes about.
2. Sign one of \`accepts\`. \`@x402/fetch\` and other x402 clients do it. By hand, for \`exact\` on \`eip155:*\` without \`extra.assetTransferMethod\`, it is EIP-712: type \`TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)\`, domain \`{name: extra.name, version: extra.version, chainId, verifyingContract: asset}\`, message: \`from\` your wallet, \`to\` payTo, \`value\` amount, \`validAfter\` 0, \`validBefore\` at most maxTimeoutSeconds from now (Unix seconds), \`nonce\` 32 random bytes.
3. Send the same call with the header \`PAYMENT-SIGNATURE\`: base64 of \`{"x402Version": 2, "resource": as it came, "accepted": the terms as they came, "payload": {"signature": "0x…", "authorization": {"from", "to", "value", "validAfter", "validBefore", "nonce"}}}\`, all six as strings. The answer's \`PAYMENT-RESPONSE\` is base64 of the settlement. A search answers \`results\`, a chat \`choices[0].message.content\`, a response \`output\`, an image \`data[0].url\`, a video its \`id\`.

After a lost answer, a 409 \`payment_in_progress\`, a 502 or a 503 send the same call with the same proof again. It is charged once. Do not sign anew.

Chats and responses: send \`max_tokens\` (responses: \`max_output_tokens\`), because the price is that of the longest answer. Without it the price is up to $1. By \`exact\` you pay the price, and the rest becomes balance. \`upto\` (EVM, where offered) takes only what the answer used: sign with \`UptoEvmScheme\` of \`@x402/evm/upto/client\`, made with \`toClientEvmSigner(account, publicClient)\` of \`@x402/evm\`.`,
        },
        {
          title: 'To sign in, free of charge',
          text: `1. \`${signIn.method} ${url}${signIn.path}\` without a body answers 402 with \`extensions["sign-in-with-x"]\` in its body: \`info\`, and \`supportedChains\` with a \`chainId\` and \`type\` each.
2. Sign this text, filled from \`info\`, by \`personal_sign\` (EIP-191). On Solana it says "Solana account" and is signed by ed25519.

\`\`\`
${messageToSign}
\`\`\`

3. Repeat the call with the header \`SIGN-IN-WITH-X\`: base64 of JSON with all fields of \`info\` and \`address\`, \`chainId\`, \`type\` and \`signature\`. The answer has the \`key\`, for a day.`,
        },
        {
          title: 'With a key',
          text: `Chats, responses, images and videos take their price from the balance then, without a payment. These calls are free:

- \`GET ${url}/v1/videos/<ID>\`: ask every 2 s until \`status\` is \`completed\` or \`failed\`. A video answers its \`id\` at once when it is paid for. Then \`GET ${url}/v1/videos/<ID>/content\` is the film, for 23 hours.
- \`GET ${url}/v1/jobs/<ID>\`: an image that was still \`queued\` or \`running\`; its \`data[0].url\` needs no key.
- \`GET ${url}/v1/balance\`: \`balance_usd\`.
- \`GET ${url}/v1/receipts/<ID>\`: a signed receipt, by the \`id\` of an answer or of a purchase.
- \`GET ${url}/v1/purchases\`: what the wallet paid for.`,
        },
      ];
