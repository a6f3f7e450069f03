/** A country, its cities, and lines that people there might write about themselves. */
export interface Place {
  /** ISO 3166 alpha-2. */
  country: string;
  cities: readonly [string, ...string[]];
  phrases: readonly string[];
}

const english = [
  'Small joys, every day',
  'Learning in public',
  'Coffee first',
  'Weekend explorer',
  'Made with care',
];
const spanish = [
  'Amante del café y los viajes',
  'Vida sana y feliz',
  'Mamá de dos',
  'Aquí comparto mi día a día',
];
const portuguese = [
  'Vida saudável',
  'Apaixonada por viagens',
  'Coração no sertão',
  'Dicas de moda e decoração',
];
const french = ['Créatrice de contenu', 'Idées déco et recettes', 'La vie en été', 'Passionné de voyages'];
const german = [
  'Glücklich draußen',
  'Rezepte für jeden Tag',
  'Schöne Dinge und gutes Essen',
  'Grüße vom Balkon',
];
const italian = ['Cucina, caffè e città', 'Vita semplice', 'Bellezza ogni giorno'];
const arabic = ['وصفات سهلة كل يوم', 'سفر وتصوير'];

/** The most frequent country first. */
export const places: readonly [Place, ...Place[]] = [
  {
    country: 'US',
    cities: [
      'New York',
      'Los Angeles',
      'Chicago',
      'Austin',
      'Miami',
      'Seattle',
      'Denver',
      'Atlanta',
      'Portland',
    ],
    phrases: english,
  },
  {
    country: 'BR',
    cities: ['São Paulo', 'Rio de Janeiro', 'Belo Horizonte', 'Curitiba', 'Florianópolis', 'Brasília'],
    phrases: portuguese,
  },
  { country: 'IN', cities: ['Mumbai', 'Delhi', 'Bengaluru', 'Pune', 'Chennai', 'Jaipur'], phrases: english },
  {
    country: 'GB',
    cities: ['London', 'Manchester', 'Bristol', 'Leeds', 'Glasgow', 'Brighton'],
    phrases: english,
  },
  {
    country: 'ID',
    cities: ['Jakarta', 'Bandung', 'Surabaya', 'Denpasar'],
    phrases: ['Suka jalan dan makan'],
  },
  {
    country: 'MX',
    cities: ['Ciudad de México', 'Guadalajara', 'Monterrey', 'Mérida', 'Puebla'],
    phrases: spanish,
  },
  {
    country: 'TR',
    cities: ['İstanbul', 'Ankara', 'İzmir', 'Antalya', 'Bursa'],
    phrases: ['Güzellik ve moda önerileri', 'Işıkla yazıyorum', 'Çay, kedi, kitap'],
  },
  {
    country: 'DE',
    cities: ['Berlin', 'Hamburg', 'München', 'Köln', 'Leipzig', 'Düsseldorf'],
    phrases: german,
  },
  { country: 'FR', cities: ['Paris', 'Lyon', 'Marseille', 'Bordeaux', 'Lille', 'Nîmes'], phrases: french },
  { country: 'IT', cities: ['Milano', 'Roma', 'Torino', 'Bologna', 'Napoli', 'Firenze'], phrases: italian },
  {
    country: 'ES',
    cities: ['Madrid', 'Barcelona', 'Valencia', 'Sevilla', 'Málaga', 'A Coruña'],
    phrases: spanish,
  },
  {
    country: 'JP',
    cities: ['Tokyo', 'Osaka', 'Kyoto', 'Fukuoka', 'Sapporo'],
    phrases: ['東京の美味しいもの', '旅行とカメラ', '毎日のお弁当', 'ていねいな暮らし'],
  },
  { country: 'CA', cities: ['Toronto', 'Vancouver', 'Montréal', 'Calgary', 'Québec'], phrases: english },
  { country: 'AU', cities: ['Sydney', 'Melbourne', 'Brisbane', 'Perth', 'Hobart'], phrases: english },
  { country: 'AR', cities: ['Buenos Aires', 'Córdoba', 'Rosario', 'Mendoza'], phrases: spanish },
  { country: 'CO', cities: ['Bogotá', 'Medellín', 'Cali', 'Cartagena'], phrases: spanish },
  {
    country: 'KR',
    cities: ['Seoul', 'Busan', 'Incheon', 'Jeju'],
    phrases: ['서울 맛집 기록', '여행과 일상', '매일 운동하는 사람'],
  },
  { country: 'PH', cities: ['Manila', 'Cebu', 'Davao'], phrases: english },
  { country: 'TH', cities: ['Bangkok', 'Chiang Mai', 'Phuket'], phrases: ['อาหารไทยทุกวัน', 'รักการเดินทาง'] },
  { country: 'VN', cities: ['Hà Nội', 'Đà Nẵng', 'Huế', 'Cần Thơ'], phrases: ['Yêu ẩm thực và du lịch'] },
  { country: 'NG', cities: ['Lagos', 'Abuja', 'Ibadan'], phrases: english },
  { country: 'EG', cities: ['Cairo', 'Alexandria', 'Giza'], phrases: arabic },
  { country: 'SA', cities: ['Riyadh', 'Jeddah', 'Dammam'], phrases: arabic },
  { country: 'AE', cities: ['Dubai', 'Abu Dhabi', 'Sharjah'], phrases: [...english, ...arabic] },
  {
    country: 'PL',
    cities: ['Warszawa', 'Kraków', 'Łódź', 'Wrocław', 'Gdańsk', 'Poznań'],
    phrases: ['Życie w mieście', 'Kawa, książki i góry'],
  },
  { country: 'NL', cities: ['Amsterdam', 'Rotterdam', 'Utrecht', 'Groningen'], phrases: english },
  {
    country: 'SE',
    cities: ['Stockholm', 'Göteborg', 'Malmö', 'Umeå'],
    phrases: ['Vardag i rött hus', 'Skön läsning'],
  },
  { country: 'PT', cities: ['Lisboa', 'Porto', 'Braga', 'Évora'], phrases: portuguese },
  { country: 'ZA', cities: ['Cape Town', 'Johannesburg', 'Durban'], phrases: english },
  { country: 'CL', cities: ['Santiago', 'Valparaíso', 'Concepción'], phrases: spanish },
  { country: 'CH', cities: ['Zürich', 'Genève', 'Basel', 'Bern'], phrases: [...german, ...french] },
  { country: 'AT', cities: ['Wien', 'Graz', 'Linz', 'Salzburg'], phrases: german },
  { country: 'GR', cities: ['Athens', 'Thessaloniki', 'Patras'], phrases: ['Ταξίδια και φαγητό'] },
  { country: 'DK', cities: ['København', 'Aarhus', 'Odense'], phrases: ['Små øjeblikke'] },
  { country: 'NO', cities: ['Oslo', 'Bergen', 'Tromsø'], phrases: ['Ut på tur'] },
  { country: 'IE', cities: ['Dublin', 'Cork', 'Galway'], phrases: english },
  { country: 'NZ', cities: ['Auckland', 'Wellington', 'Dunedin'], phrases: english },
  { country: 'SG', cities: ['Singapore'], phrases: english },
  { country: 'PE', cities: ['Lima', 'Cusco', 'Arequipa'], phrases: spanish },
  { country: 'CZ', cities: ['Praha', 'Brno', 'Plzeň'], phrases: ['Káva a procházky'] },
];
