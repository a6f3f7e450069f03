import { priceInWords, rangeInWords, type Offer, type ServiceDescription } from './describe-service.ts';
import { html, type Html } from './docs/docs-page-html.ts';

/** Makes the table of all that is sold or free: the operation, its price, and who may call it. */
export const priceTable = ({ offers, free }: Pick<ServiceDescription, 'offers' | 'free'>): Html =>
  html`<table class="prices">
    <thead>
      <tr>
        <th scope="col">What</th>
        <th scope="col">Price</th>
        <th scope="col">For whom</th>
      </tr>
    </thead>
    <tbody>
      ${offers.map((offer) => row(offer, pricesOf(offer, offers), buyersOf(offer)))}
      ${free.map((one) => row(one, html`free`, 'everybody'))}
    </tbody>
  </table>`;

const row = (
  { title, method, url }: Pick<Offer, 'title' | 'method' | 'url'>,
  price: Html,
  buyers: string,
): Html =>
  html`<tr>
    <th scope="row">${title} <code>${method} ${decodeURI(new URL(url).pathname)}</code></th>
    <td>${price}</td>
    <td>${buyers}</td>
  </tr>`;

/** The prices of its SKUs, and of its calls without a key. Operations that sell the same SKUs tell their prices once. */
const pricesOf = (offer: Offer, offers: readonly Offer[]): Html => {
  const { models, goods } = offer;
  const [kind] = models.map((model) => model.kind);
  const first = offers.find((other) => other.models[0]?.kind === kind) ?? offer;
  const bySku =
    first === offer || models.length === 0
      ? models.map(({ sku, price }) => html`<li><code>${sku}</code> ${priceInWords(price)}</li>`)
      : [html`<li>the prices of “${first.title}”</li>`];
  const byCall = goods.map((good) => {
    const range = rangeInWords(good);
    if (models.length > 0) return html`<li>without a key ${range}</li>`;
    // A tool is an item, whose summary is its price in words.
    return good.name === offer.name
      ? html`<li>${range}</li>`
      : html`<li><code>${good.name}</code> ${good.summary}</li>`;
  });
  return html`<ul>
    ${bySku} ${byCall}
  </ul>`;
};

const buyersOf = ({ takesKey, goods }: Offer): string =>
  [...(takesKey ? ['an API key'] : []), ...(goods.length > 0 ? ['a wallet with USDC'] : [])].join(', or ');
