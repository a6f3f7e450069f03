import { splitList } from './topics.ts';

const english =
  'Small joys, every day / Learning in public / Coffee first / Weekend explorer / Made with care';
const spanish = 'Amante del café y los viajes / Vida sana y feliz / Mamá de dos / Aquí comparto mi día a día';
const portuguese = 'Vida saudável / Apaixonada por viagens / Coração no sertão / Dicas de moda e decoração';
const french = 'Créatrice de contenu / Idées déco et recettes / La vie en été / Passionné de voyages';
const german = 'Glücklich draußen / Rezepte für jeden Tag / Schöne Dinge und gutes Essen / Grüße vom Balkon';
const italian = 'Cucina, caffè e città / Vita semplice / Bellezza ogni giorno';
const arabic = 'وصفات سهلة كل يوم / سفر وتصوير';

/** A country (ISO 3166 alpha-2), its cities, and lines that people there might write about themselves. */
export type Place = ReturnType<typeof place>;

/** `phrases` are divided by slashes, because they hold commas. */
const place = (country: string, cities: string, phrases: string) => ({
  country,
  cities: splitList(cities),
  phrases: phrases.split(' / '),
});

/** The most frequent country first. */
export const places: readonly [Place, ...Place[]] = [
  place('US', 'New York, Los Angeles, Chicago, Austin, Miami, Seattle, Denver, Atlanta, Portland', english),
  place('BR', 'São Paulo, Rio de Janeiro, Belo Horizonte, Curitiba, Florianópolis, Brasília', portuguese),
  place('IN', 'Mumbai, Delhi, Bengaluru, Pune, Chennai, Jaipur', english),
  place('GB', 'London, Manchester, Bristol, Leeds, Glasgow, Brighton', english),
  place('ID', 'Jakarta, Bandung, Surabaya, Denpasar', 'Suka jalan dan makan'),
  place('MX', 'Ciudad de México, Guadalajara, Monterrey, Mérida, Puebla', spanish),
  place(
    'TR',
    'İstanbul, Ankara, İzmir, Antalya, Bursa',
    'Güzellik ve moda önerileri / Işıkla yazıyorum / Çay, kedi, kitap',
  ),
  place('DE', 'Berlin, Hamburg, München, Köln, Leipzig, Düsseldorf', german),
  place('FR', 'Paris, Lyon, Marseille, Bordeaux, Lille, Nîmes', french),
  place('IT', 'Milano, Roma, Torino, Bologna, Napoli, Firenze', italian),
  place('ES', 'Madrid, Barcelona, Valencia, Sevilla, Málaga, A Coruña', spanish),
  place(
    'JP',
    'Tokyo, Osaka, Kyoto, Fukuoka, Sapporo',
    '東京の美味しいもの / 旅行とカメラ / 毎日のお弁当 / ていねいな暮らし',
  ),
  place('CA', 'Toronto, Vancouver, Montréal, Calgary, Québec', english),
  place('AU', 'Sydney, Melbourne, Brisbane, Perth, Hobart', english),
  place('KR', 'Seoul, Busan, Incheon, Jeju', '서울 맛집 기록 / 여행과 일상 / 매일 운동하는 사람'),
  place('TH', 'Bangkok, Chiang Mai, Phuket', 'อาหารไทยทุกวัน / รักการเดินทาง'),
  place('SA', 'Riyadh, Jeddah, Dammam', arabic),
  place('PL', 'Warszawa, Kraków, Łódź, Wrocław, Gdańsk, Poznań', 'Życie w mieście / Kawa, książki i góry'),
  place('GR', 'Athens, Thessaloniki, Patras', 'Ταξίδια και φαγητό'),
];
