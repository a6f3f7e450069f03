import type { IncomingMessage, ServerResponse } from 'node:http';
import { brandTitle } from '../../kit/text.ts';
import { writeJson } from '../../kit/write-answer.ts';
import type { PaymentRequiredAnswer } from '../../operations/answer.ts';
import type { Services } from '../../operations/call.ts';
import type { Operation } from '../../operations/definition.ts';
import { pageHeaders, columnPage } from '../page-shell.ts';
import { isConsoleBuilt } from '../console/console-files.ts';
import { isPaywallWanted } from './paywall-wanted.ts';
import type { Challenge } from '../../payments/sale/gate.ts';
import { fact, html, type Html } from '../docs/docs-page-html.ts';
import { clientSnippet } from '../../payments/chains/networks.ts';

export interface UnpaidRequest {
  request: IncomingMessage;
  operation: Operation;
  url: URL;
  services: Services;
}

/** Writes the 402: the terms in the header, and a body for programs (JSON) or for people (a page).
 * The answer to a refused credential of a dialect has problem details and the terms. */
export const writePaymentRequired = (
  response: ServerResponse,
  { challenge, receipt, isSandbox, quote }: PaymentRequiredAnswer,
  unpaid: UnpaidRequest,
): void => {
  const { inDialects } = challenge;
  const headers = {
    'payment-required': challenge.header,
    ...inDialects?.headers,
    'cache-control': 'no-store',
    vary: 'Accept',
    ...(isSandbox ? { [`x-${unpaid.services.config.brand}-sandbox`]: 'true' } : {}),
    ...receipt?.headers,
  };
  const body = quote === undefined ? challenge.body : { ...challenge.body, quote };
  if (inDialects?.problem)
    return writeJson(response, {
      status: 402,
      headers: { ...headers, 'content-type': 'application/problem+json' },
      body: { ...body, ...inDialects.problem },
    });
  if (!isPaywallWanted(unpaid.request.headers)) return writeJson(response, { status: 402, headers, body });
  const page = Buffer.from(paywallPage(challenge, toPaywallSubject(unpaid)));
  response.writeHead(402, {
    ...pageHeaders,
    ...headers,
    'content-type': 'text/html; charset=utf-8',
    'content-length': page.length,
  });
  response.end(page);
};

/** Describes the request for the page. Only path and query come from the caller. */
const toPaywallSubject = ({
  operation: { name, title, description, tool, rest },
  url,
  services,
}: UnpaidRequest) => {
  const { config, publicUrl, x402 } = services;
  const sale = x402.sales.find((one) => one.name === name);
  const labels = new Map(
    x402.status().map(({ network, label, isTest }) => [network, isTest ? `${label} (test money)` : label]),
  );
  return {
    /** The brand as people read it. */
    brand: brandTitle(config),
    /** `{base_url}` without a trailing slash. */
    publicUrl: publicUrl(),
    /** Path and query of the request as it came. */
    target: `${url.pathname}${url.search}`,
    /** The page on which a wallet of the browser pays for it, seen from the root; null: there is none. */
    payPath: name === 'search_leads' && isConsoleBuilt() ? `pay${url.search}` : null,
    /** The title of the operation that is sold. */
    title,
    description,
    /** The name of its MCP tool; null when it is no tool. */
    tool: tool === null ? null : name,
    /** Whether the payment is balance, from which the call is paid. */
    isCredit: sale?.isCredit === true,
    /** Says that what is sold is made up; null when it is real. */
    sandboxNotice: sale?.notice() ?? null,
    /** The known parameters of the request with their values, decoded. */
    parameters: [...url.searchParams].filter(([parameter]) => rest.query.includes(parameter)),
    /** Returns the name of a network (CAIP-2) for people. */
    labelOf: (network: string): string => labels.get(network) ?? network,
  };
};

/** The request as the page shows it. */
export type PaywallSubject = ReturnType<typeof toPaywallSubject>;

/** Makes the page for a person who opens a paid address in a browser: the price, and how programs pay it. */
export const paywallPage = (
  { paymentRequired, body }: Pick<Challenge, 'paymentRequired' | 'body'>,
  subject: PaywallSubject,
): string => {
  const { brand, publicUrl, target, title, description, tool } = subject;
  const { amount, asset } = body.x402;
  const root = rootSeenFrom(target);
  return columnPage({
    title: `${title}: $${amount} – ${brand}`,
    style: `${root}docs/style.css`,
    main: html`<header>
        <p class="brand">${brand}</p>
        <p><span class="status s4">402</span> ${paymentRequired.error}</p>
        <h1>This request ${subject.isCredit ? 'is paid with' : 'costs'} $${amount}</h1>
        <p class="lead">
          ${amount} ${asset}, paid
          ${subject.isCredit ? "onto the balance of your wallet's own account. No key" : 'for this one request. No account'},
          no subscription.
        </p>
      </header>
      <p class="notice">
        ${
          subject.payPath === null
            ? html`<strong>This page cannot take the payment.</strong> Give its address to a program or an
                assistant that pays by x402.`
            : html`<a href="${root}${subject.payPath}"><strong>Pay with a wallet of this browser</strong></a
                >, or give the address of this page to a program or an assistant that pays by x402.`
        }
      </p>
      <section aria-labelledby="what">
        <h2 id="what">${title}</h2>
        <p>${description}</p>
        ${subject.sandboxNotice === null ? html`` : html`<p><strong>${subject.sandboxNotice}</strong></p>`}
        ${requestList(subject)}
      </section>
      <section aria-labelledby="happens">
        <h2 id="happens">What happens</h2>
        <ol>
          <li>Your program signs a transfer of exactly ${amount} ${asset}. Nothing has moved yet.</li>
          <li>
            It sends the same request again, with the signed transfer in the header
            <code>PAYMENT-SIGNATURE</code>.
          </li>
          ${subject.isCredit ? creditSteps(amount) : saleStep}
        </ol>
      </section>
      <section aria-labelledby="networks">
        <h2 id="networks">Where it can be paid</h2>
        <ul class="networks">
          ${paymentRequired.accepts.map((terms) => networkItem(terms, subject))}
        </ul>
        <p>
          <strong>Do not send money to a wallet by hand.</strong> Only a signed transfer that comes with the
          request pays for it; what is sent otherwise buys nothing.
        </p>
      </section>
      <section aria-labelledby="pay">
        <h2 id="pay">How to pay</h2>
        <h3>With an x402 client</h3>
        <p>For example with <code>@x402/fetch</code>, which sees the price, signs and asks again:</p>
        <pre tabindex="0"><code>${clientSnippet({
          url: `${publicUrl}${target}`,
          network: paymentRequired.accepts[0]?.network ?? '',
        })}</code></pre>
        ${tool === null ? null : mcpPart(tool, publicUrl)}
      </section>
      <footer>
        <p><a href="${root}docs">Documentation</a> · <a href="${root}openapi.json">openapi.json</a></p>
      </footer>`,
  });
};

const saleStep = html`<li>
  The request is carried out, the transfer is settled on its network, and the result comes back as JSON, with
  a receipt. A request that fails is not charged.
</li>`;

const creditSteps = (amount: string): Html =>
  html`<li>
      The transfer is settled on its network first, and raises the balance of your wallet's account by
      $${amount}.
    </li>
    <li>
      The request is carried out on that balance, and the result comes back as JSON, with a receipt. What it
      does not use stays balance. When it fails, all of the payment does.
    </li>`;

/** Returns the relative path to the root, `../../` for `/v1/x`: the gateway may be below a path of its proxy. */
const rootSeenFrom = (target: string): string =>
  '../'.repeat(Math.max(0, target.replace(/\?.*/s, '').split('/').length - 2));

/** Values come from strangers: `bdi` isolates their writing direction. */
const requestList = ({ parameters }: PaywallSubject): Html | null =>
  parameters.length === 0
    ? null
    : html`<h3>Your request</h3>
        <dl>
          ${parameters.map(([name, value]) => fact(html`<code>${name}</code>`, html`<bdi>${value}</bdi>`))}
        </dl>`;

const networkItem = (
  { network, asset, amount, payTo }: Challenge['paymentRequired']['accepts'][number],
  { labelOf }: PaywallSubject,
): Html =>
  html`<li>
    <h3>${labelOf(network)}</h3>
    <dl>
      ${fact('Network', html`<code>${network}</code>`)} ${fact('Wallet', shortened(payTo))}
      ${fact('Token', shortened(asset))}
      ${fact('Amount', html`<code>${amount}</code> of the token's smallest unit`)}
    </dl>
  </li>`;

/** Shows a short address that opens to the whole one. */
const shortened = (address: string): Html =>
  html`<details>
    <summary><code>${address.slice(0, 6)}…${address.slice(-4)}</code></summary>
    <code class="whole">${address}</code>
  </details>`;

const mcpPart = (tool: string, publicUrl: string): Html =>
  html`<h3>Over MCP</h3>
    <p>
      Connect your assistant to <code class="whole">${publicUrl}/mcp</code> and have it call the tool
      <code>${tool}</code>. No key is needed; its client pays in <code>_meta["x402/payment"]</code>.
    </p>`;
