import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { paywallPage, type PaywallSubject } from '../../../src/rest/paywall/paywall-answer.ts';

interface Texts {
  error: string;
  address: string;
  subject?: Partial<PaywallSubject>;
}

const pageOf = ({ error, address, subject }: Texts): string => {
  const terms = { scheme: 'exact', payTo: address, maxTimeoutSeconds: 300, extra: {} } as const;
  return paywallPage(
    {
      paymentRequired: {
        x402Version: 2,
        error,
        resource: { url: 'https://leads.example/v1/search', description: '', mimeType: 'application/json' },
        accepts: [
          { ...terms, network: 'eip155:8453', asset: '0xAsset', amount: '120000' },
          { ...terms, network: 'solana:one', asset: 'Mint', amount: '120000' },
        ],
      },
      body: {
        error,
        x402: { version: '2', amount: '0.12', asset: 'USDC', payTo: address, chain: 'base' },
        x402Version: 1,
        accepts: [],
      },
    },
    {
      brand: 'Causeway',
      publicUrl: 'https://leads.example',
      target: '/v1/search?query=coffee',
      payPath: null,
      title: 'Search influencers',
      description: 'Finds profiles.',
      tool: 'search_leads',
      parameters: [['query', 'coffee']],
      isCredit: false,
      sandboxNotice: null,
      labelOf: (network) => network,
      ...subject,
    },
  );
};

const plain: Texts = { error: 'Payment required', address: '0x90F79bf6EB2c4f870365E785982E1f101E93b906' };

/** All that a browser takes for markup. */
const markupOf = (page: string): string => (page.match(/<[^>]*>?/g) ?? []).join('\n');

describe('the page of a 402', () => {
  it('says why a proof was refused', () => {
    expect(pageOf({ ...plain, error: 'invalid_exact_evm_payload_signature' })).toContain(
      '</span> invalid_exact_evm_payload_signature<',
    );
  });

  it('leads to the page on which a wallet of the browser pays, where this program has it', () => {
    expect(pageOf({ ...plain, subject: { payPath: 'pay?query=coffee' } })).toContain(
      '<a href="../pay?query=coffee">',
    );
    expect(pageOf(plain)).toContain('This page cannot take the payment.');
  });

  it('says that a failed request costs nothing, or that its payment is balance', () => {
    expect(pageOf(plain)).toContain('A request that fails is not charged.');
    const page = pageOf({ ...plain, subject: { isCredit: true } }).replaceAll(/\s+/g, ' ');
    expect(page).toContain(
      "is settled on its network first, and raises the balance of your wallet's account by $0.12.",
    );
    expect(page).toContain('What it does not use stays balance. When it fails, all of the payment does.');
    expect(page).not.toMatch(/not charged|No account/);
  });

  it('has each address in short, and whole to be copied', () => {
    const page = pageOf(plain);
    expect(page).toContain('<summary><code>0x90F7…b906</code></summary>');
    expect(page).toContain(`<code class="whole">${plain.address}</code>`);
  });

  it('tells of MCP only where the operation is a tool', () => {
    expect(pageOf(plain)).toContain('https://leads.example/mcp');
    expect(pageOf({ ...plain, subject: { tool: null } })).not.toContain('/mcp');
  });

  it.each([
    ['/v1/search?query=a/b', 'href="../docs"'],
    ['/search', 'href="docs"'],
    ['/v1/a/search', 'href="../../docs"'],
  ])('finds its style and links from %s without knowing its host', (target, link) => {
    expect(pageOf({ ...plain, subject: { target } })).toContain(link);
  });

  it('has the same markup whatever its texts are', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary-ascii' }),
      fc.constantFrom(
        '</code></pre><script>alert(1)</script>',
        '"><img src=x onerror=alert(1)>',
        "'-alert(1)-'",
        '<!--',
        ']]><svg/onload=alert(1)>',
        '&lt;b&gt;',
      ),
    );
    const markup = markupOf(pageOf(plain));
    fc.assert(
      fc.property(text, (hostile) => {
        const page = pageOf({
          error: hostile,
          address: hostile,
          subject: {
            brand: hostile,
            publicUrl: hostile,
            target: `/v1/search?query=${hostile}`,
            title: hostile,
            description: hostile,
            tool: hostile,
            parameters: [['query', hostile]],
            labelOf: () => hostile,
          },
        });
        expect(markupOf(page)).toBe(markup);
      }),
    );
  });
});

describe('the program on the page', () => {
  const programOf = (page: string): string => {
    const [, escaped = ''] = /<pre[^>]*><code>([^]*?)<\/code>/.exec(page) ?? [];
    return escaped
      .replaceAll('&#39;', "'")
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&');
  };

  it('asks for the very address, and no text in it ends its string', () => {
    const target = '/v1/search?query=a"+b\\\'`${c}&limit=3';
    const [, literal = ''] =
      /payingFetch\((".*")\);$/m.exec(programOf(pageOf({ ...plain, subject: { target } }))) ?? [];
    expect(JSON.parse(literal)).toBe(`https://leads.example${target}`);
  });

  it('pays on the first network that is offered', () => {
    expect(programOf(pageOf(plain))).toContain('network: "eip155:8453", client: new ExactEvmScheme(');
  });
});
